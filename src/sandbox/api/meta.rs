//! What the server itself writes into an object's metadata, and what nobody may.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use super::{
    field_error::FieldError,
    json::text,
    kind::{Kind, Version},
};

/// A time as metadata have it: whole seconds.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Everything that the server makes up: uids and the ends of generated names, all from one seed.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One step of splitmix64.
    const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn uid(&mut self) -> String {
        let (high, low) = (self.roll(), self.roll());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }

    /// Five letters, of those that make no words.
    pub(super) fn suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut rest = self.roll();
        let mut letters = String::new();
        for _ in 0..5 {
            let index = usize::try_from(rest % LETTERS.len() as u64).unwrap_or_default();
            letters.push(char::from(LETTERS[index]));
            rest /= LETTERS.len() as u64;
        }
        letters
    }
}

/// Metadata have a type of their own, whatever the kind; maps and lists without entries are left out.
pub(super) fn typed(object: &mut Value) -> serde_json::Result<()> {
    let typed: ObjectMeta = serde_json::from_value(object["metadata"].take())?;
    object["metadata"] = serde_json::to_value(typed)?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|_, value| {
            !(value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty))
        });
    }
    Ok(())
}

/// The metadata of a new object.
pub(super) fn begin(kind: &Kind, object: &mut Value, uid: String, at: Timestamp) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for theirs in ["managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"] {
        metadata.remove(theirs);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), time(at).into());
    if kind.has_generation() {
        metadata.insert("generation".to_owned(), 1.into());
    }
}

/// Keeps what an update cannot change.
pub(super) fn keep(object: &mut Value, old: &Value) {
    for kept in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "generateName",
        "resourceVersion",
    ] {
        let was = old["metadata"].get(kept).cloned();
        let Some(metadata) = object["metadata"].as_object_mut() else { return };
        match was {
            Some(was) => metadata.insert(kept.to_owned(), was),
            None => metadata.remove(kept),
        };
    }
}

/// Counts a change of what is declared: of anything but metadata, and but status where that has its own door.
pub(super) fn count(kind: &Kind, version: &Version, object: &mut Value, old: &Value) {
    let is_declared = |key: &str| key != "metadata" && !(version.status && key == "status");
    let declared = |object| fields(object).filter(|(key, _)| is_declared(key));
    let labels = kind.counts_labels() && object["metadata"]["labels"] != old["metadata"]["labels"];
    if kind.has_generation() && (labels || !declared(object).eq(declared(old))) {
        let generation = old["metadata"]["generation"].as_u64().unwrap_or_default();
        object["metadata"]["generation"] = (generation + 1).into();
    }
}

fn fields(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// Marks an object that still has finalizers.
pub(super) fn mark_deleted(object: &mut Value, at: Timestamp) {
    let metadata = &mut object["metadata"];
    metadata["deletionTimestamp"] = time(at).into();
    metadata["deletionGracePeriodSeconds"] = 0.into();
    if let Some(generation) = metadata["generation"].as_u64() {
        metadata["generation"] = (generation + 1).into();
    }
}

pub(super) fn is_deleted(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Finalizers that are new on an object that is going.
pub(super) fn late_finalizers(object: &Value, old: &Value) -> Vec<FieldError> {
    let before = finalizers(old);
    let new: Vec<String> = finalizers(object)
        .into_iter()
        .filter(|name| !before.contains(name))
        .map(|name| json!(name).to_string())
        .collect();
    if !is_deleted(old) || new.is_empty() {
        return Vec::new();
    }
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        new.join(", ")
    );
    vec![FieldError::forbidden("metadata.finalizers", &detail)]
}

/// What is wrong with a new object's name.
pub(super) fn name_errors(kind: &Kind, object: &Value) -> Option<FieldError> {
    let name = text(object, "/metadata/name");
    if name.is_empty() {
        let message = "Required value: name or generateName is required";
        return Some(FieldError::new("metadata.name", "FieldValueRequired", message));
    }
    let lower = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let label = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|letter| lower(*letter) || *letter == b'-')
            && bytes.first().is_some_and(|letter| lower(*letter))
            && bytes.last().is_some_and(|letter| lower(*letter))
    };
    let detail = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "services") if !(label(name) && name.as_bytes()[0].is_ascii_lowercase()) => DNS_1035,
        ("", "namespaces") if !label(name) => DNS_LABEL,
        _ if !name.split('.').all(label) => DNS_SUBDOMAIN,
        _ if name.len() > 253 => "must be no more than 253 characters",
        _ => return None,
    };
    Some(FieldError::invalid("metadata.name", &json!(name), detail))
}

const DNS_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
    start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
    regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_one_row_of_uids() {
        let (mut one, mut same, mut other) = (Dice::new(7), Dice::new(7), Dice::new(8));
        let uid = one.uid();
        assert_eq!(uid, same.uid());
        assert_ne!(uid, other.uid());
        assert_ne!(uid, one.uid());
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
        assert_eq!(one.suffix().len(), 5);
    }

    #[test]
    fn only_what_is_declared_is_counted() {
        let kind = Kind::default();
        let version = Version {
            name: "v1".to_owned(),
            status: true,
            schema: std::sync::Arc::new(super::super::schema::Schema::merging(json!({}))),
            columns: Vec::new(),
        };
        let old = json!({"metadata": {"generation": 1}, "spec": {"a": 1}, "status": {}});
        let generation = |mut new: Value| {
            count(&kind, &version, &mut new, &old);
            new["metadata"]["generation"].as_u64()
        };
        let same = json!({"metadata": {"generation": 1, "labels": {"a": "b"}}, "spec": {"a": 1}, "status": {"b": 1}});
        assert_eq!(generation(same), Some(1));
        assert_eq!(generation(json!({"metadata": {"generation": 1}, "spec": {"a": 2}, "status": {}})), Some(2));
    }

    #[test]
    fn names() {
        let kind = Kind::default();
        let wrong = |name: &str| name_errors(&kind, &json!({"metadata": {"name": name}})).is_some();
        assert!(!wrong("a") && !wrong("a-b.c9"));
        assert!(wrong("") && wrong("A") && wrong("-a") && wrong("a..b") && wrong("a.-b") && wrong("a_b"));
    }
}
