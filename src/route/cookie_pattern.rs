//! A condition on one cookie, for kinds that look at the header `Cookie` as a whole.

use crate::api::matches::{FieldMatch, Value as Chosen};

/// A regular expression for the whole header: there is such a cookie, among whatever others.
pub(super) fn cookie_pattern(cookie: &FieldMatch) -> String {
    let value = match cookie.value() {
        Some(Chosen::Exact(text)) => regex::escape(text),
        Some(Chosen::Prefix(text)) => format!("{}[^;]*", regex::escape(text)),
        Some(Chosen::Regex(text)) => format!("({text})"),
        None => String::new(),
    };
    format!("^(.*; ?)?{}={value}(;.*)?$", regex::escape(&cookie.name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn finds(cookie: &Value, header: &str) -> bool {
        let pattern = cookie_pattern(&serde_json::from_value(cookie.clone()).unwrap());
        regex::Regex::new(&pattern).unwrap().is_match(header)
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name_and_value_wherever_it_stands() {
        let beta = json!({"name": "beta", "exact": "a.b"});
        for header in ["beta=a.b", "x=1; beta=a.b", "x=1;beta=a.b; y=2", "beta=a.b; x=1"] {
            assert!(finds(&beta, header), "{header}");
        }
        for header in ["beta=axb", "beta=a.b2", "notbeta=a.b", "x=beta=a.b", "beta=", ""] {
            assert!(!finds(&beta, header), "{header}");
        }
        assert!(finds(&json!({"name": "beta", "prefix": "v"}), "beta=v12; x=1"));
        assert!(!finds(&json!({"name": "beta", "prefix": "v"}), "beta=x; y=v1"));
        let either = json!({"name": "beta", "regex": "1|2"});
        assert!(finds(&either, "beta=2; x=3") && !finds(&either, "beta=12"));
    }

    #[test]
    fn each_cookie_is_a_condition_of_its_own() {
        let header = "theme=dark; beta=1";
        assert!(finds(&json!({"name": "beta", "exact": "1"}), header));
        assert!(finds(&json!({"name": "theme", "exact": "dark"}), header));
        assert!(!finds(&json!({"name": "group", "exact": "1"}), header));
    }
}
