//! The fields of a foreign object: each is taken once, and those that nobody takes are named.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    foreign::Foreign,
    remarks::{Remarks, shown},
};
use crate::yaml::below;

/// Fields of one mapping that were not taken yet.
#[derive(Clone, Debug)]
pub(super) struct Fields<'f> {
    of: &'f Foreign,
    path: String,
    rest: Map<String, Value>,
}

/// What can be taken.
pub(super) trait Taken: Sized {
    /// What it is, in words.
    const WHAT: &'static str;
    /// The value, where it is one.
    fn taken(value: &Value) -> Option<Self>;
}

impl<'f> Fields<'f> {
    /// The fields of a mapping; none of anything else.
    pub(super) fn new(of: &'f Foreign, path: impl Into<String>, value: Option<&Value>) -> Self {
        let mut rest = value.and_then(Value::as_object).cloned().unwrap_or_default();
        // An API server drops nulls.
        rest.retain(|_, value| !value.is_null());
        Self { of, path: path.into(), rest }
    }

    /// The object in which they stand.
    pub(super) const fn of(&self) -> &'f Foreign {
        self.of
    }

    /// The path of a field.
    pub(super) fn at(&self, key: &str) -> String {
        below(&self.path, key)
    }

    /// The path of the mapping.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether a field is given and was not taken.
    pub(super) fn has(&self, key: &str) -> bool {
        self.rest.contains_key(key)
    }

    /// The names of the fields that were not taken.
    pub(super) fn names(&self) -> Vec<String> {
        self.rest.keys().cloned().collect()
    }

    /// The value of a field, whatever it is.
    pub(super) fn any(&mut self, key: &str) -> Option<Value> {
        self.rest.remove(key)
    }

    /// The value of a field; one of another type is refused.
    pub(super) fn take<T: Taken>(&mut self, key: &str, remarks: &mut Remarks) -> Option<T> {
        let value = self.rest.remove(key)?;
        let taken = T::taken(&value);
        if taken.is_none() {
            let found = format!("{} is not {}", shown(&value.to_string()), T::WHAT);
            remarks.refusals.push(self.of.refusal(&self.at(key), found, "correct it"));
        }
        taken
    }

    /// The fields of a mapping below this one; what `of` leaves of them is named.
    pub(super) fn block<T>(
        &mut self,
        key: &str,
        remarks: &mut Remarks,
        of: impl FnOnce(&mut Fields<'f>, &mut Remarks) -> T,
    ) -> Option<T> {
        let value = self.take::<Map<String, Value>>(key, remarks)?;
        let mut fields = Fields::new(self.of, self.at(key), Some(&Value::Object(value)));
        let made = of(&mut fields, remarks);
        fields.name_the_rest(remarks);
        Some(made)
    }

    /// The mappings of a list; what `of` leaves of each is named.
    pub(super) fn each<T>(
        &mut self,
        key: &str,
        remarks: &mut Remarks,
        mut of: impl FnMut(&mut Fields<'f>, &mut Remarks) -> T,
    ) -> Vec<T> {
        let list = self.take::<Vec<Value>>(key, remarks).unwrap_or_default();
        let mut made = Vec::new();
        for (place, value) in list.iter().enumerate() {
            let path = format!("{}[{place}]", self.at(key));
            if value.is_object() {
                let mut fields = Fields::new(self.of, path, Some(value));
                made.push(of(&mut fields, remarks));
                fields.name_the_rest(remarks);
            } else {
                let found = format!("{} is not a mapping", shown(&value.to_string()));
                remarks.refusals.push(self.of.refusal(&path, found, "correct it"));
            }
        }
        made
    }

    /// Fields that have no counterpart, all for one reason.
    pub(super) fn lose(&mut self, keys: &[&str], why: &str, remarks: &mut Remarks) {
        let given: Vec<String> = keys.iter().filter(|key| self.has(key)).map(|key| self.at(key)).collect();
        self.rest.retain(|key, _| !keys.contains(&key.as_str()));
        if !given.is_empty() {
            remarks.lose(given.join(", "), why);
        }
    }

    /// Refuses a field.
    pub(super) fn refuse(&self, key: &str, found: impl Into<String>, remedy: impl Into<String>, remarks: &mut Remarks) {
        remarks.refusals.push(self.of.refusal(&self.at(key), found, remedy));
    }

    /// Names the fields that nobody took.
    pub(super) fn name_the_rest(&mut self, remarks: &mut Remarks) {
        for key in std::mem::take(&mut self.rest).keys() {
            remarks.lose(shown(&self.at(key)), "not a field that is known here, and not read");
        }
    }
}

impl Taken for String {
    const WHAT: &'static str = "a text";

    fn taken(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Taken for bool {
    const WHAT: &'static str = "true or false";

    fn taken(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Taken for i64 {
    const WHAT: &'static str = "a whole number";

    fn taken(value: &Value) -> Option<Self> {
        value.as_i64()
    }
}

impl Taken for f64 {
    const WHAT: &'static str = "a number";

    fn taken(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl Taken for Map<String, Value> {
    const WHAT: &'static str = "a mapping";

    fn taken(value: &Value) -> Option<Self> {
        value.as_object().cloned()
    }
}

impl Taken for Vec<Value> {
    const WHAT: &'static str = "a list";

    fn taken(value: &Value) -> Option<Self> {
        value.as_array().cloned()
    }
}

impl<T: Taken> Taken for BTreeMap<String, T> {
    const WHAT: &'static str = "a mapping of such values";

    fn taken(value: &Value) -> Option<Self> {
        let pair = |(key, value): (&String, &Value)| Some((key.clone(), T::taken(value)?));
        value.as_object()?.iter().map(pair).collect()
    }
}

/// A list of one type.
pub(super) struct ListOf<T>(pub(super) Vec<T>);

impl<T: Taken> Taken for ListOf<T> {
    const WHAT: &'static str = "a list of such values";

    fn taken(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::taken).collect::<Option<_>>().map(Self)
    }
}
