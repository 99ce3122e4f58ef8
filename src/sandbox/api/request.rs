//! A request, read: which resource is meant, and with which options.

use std::collections::BTreeMap;

use axum::body::Bytes;
use http::{HeaderMap, Method, Uri, header};

use super::{
    field_error::FieldError,
    kind::Kind,
    selectors::{FieldSelector, LabelSelector},
    status::Failure,
};

/// A request whose body has arrived.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The parts of the path, without empty ones.
    pub(super) path: Vec<String>,
    pub(super) options: Options,
    pub(super) content_type: String,
    pub(super) accept: String,
    agent: String,
    pub(super) body: Bytes,
}

/// What stands behind the question mark.
#[derive(Debug, Default)]
pub(super) struct Options(BTreeMap<String, String>);

/// Which objects a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Request {
    pub(super) fn new(method: Method, uri: &Uri, headers: &HeaderMap, body: Bytes) -> Self {
        let word = |name: header::HeaderName| {
            headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let url = reqwest::Url::parse(&format!("http://api{path}")).ok();
        let query = url.iter().flat_map(reqwest::Url::query_pairs).map(|(key, value)| (key.into(), value.into()));
        Self {
            method,
            path: uri.path().split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            options: Options(query.collect()),
            content_type: word(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_owned(),
            accept: word(header::ACCEPT),
            agent: word(header::USER_AGENT),
            body,
        }
    }

    pub(super) fn has_body(&self) -> bool {
        !self.body.iter().all(u8::is_ascii_whitespace)
    }

    /// Who writes: the field manager, or else the first word of the user agent.
    pub(super) fn manager(&self) -> String {
        let agent = self.agent.split('/').next().unwrap_or_default();
        let manager = self.options.get("fieldManager").unwrap_or(agent);
        if manager.is_empty() { "unknown".to_owned() } else { manager.chars().take(128).collect() }
    }
}

impl Options {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self.0.get(name).map(String::as_str), Some("true" | "1" | "True" | ""))
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(|value| value.parse().ok())
    }

    /// What is wrong with the options themselves.
    pub(super) fn check(&self, method: &Method) -> Result<(), Failure> {
        let kind = match *method {
            Method::GET => return self.check_list(),
            Method::POST => "CreateOptions",
            Method::PUT => "UpdateOptions",
            Method::PATCH => "PatchOptions",
            _ => "DeleteOptions",
        };
        let unsupported = |field: &str, value: String, supported: &str| {
            let message = format!("Unsupported value: {value}: supported values: {supported}");
            Err(Failure::options(kind, FieldError::new(field, "FieldValueNotSupported", message)))
        };
        match (self.get("dryRun"), self.get("fieldValidation")) {
            (Some(other), _) if other != "All" => unsupported("dryRun", format!("[{other:?}]"), "\"All\""),
            (_, Some(other)) if !["Ignore", "Strict", "Warn"].contains(&other) => {
                let supported = "\"\", \"Ignore\", \"Strict\", \"Warn\"";
                unsupported("fieldValidation", format!("{other:?}"), supported)
            }
            _ => Ok(()),
        }
    }

    fn check_list(&self) -> Result<(), Failure> {
        let forbidden =
            |field: &str, detail: &str| Err(Failure::options("ListOptions", FieldError::forbidden(field, detail)));
        for number in ["limit", "timeoutSeconds"].into_iter().filter_map(|name| self.get(name)) {
            if number.parse::<i64>().is_err() {
                let message = format!("strconv.ParseInt: parsing {number:?}: invalid syntax");
                return Err(Failure::bad_request(&message));
            }
        }
        let matched = self.get("resourceVersionMatch");
        match (self.is("watch"), self.get("sendInitialEvents").is_some()) {
            (false, true) => forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"),
            (true, true) if matched != Some("NotOlderThan") => {
                let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                forbidden("resourceVersionMatch", detail)
            }
            (false, false) if matched.is_some() && self.get("resourceVersion").is_none() => {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                forbidden("resourceVersionMatch", detail)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn dry_run(&self) -> bool {
        self.get("dryRun") == Some("All")
    }

    pub(super) fn labels(&self) -> Result<LabelSelector, Failure> {
        LabelSelector::parse(self.get("labelSelector").unwrap_or_default())
    }

    pub(super) fn fields(&self, kind: &Kind) -> Result<FieldSelector, Failure> {
        FieldSelector::parse(self.get("fieldSelector").unwrap_or_default(), kind)
    }
}

impl Target {
    /// The objects behind `/api/v1/…` and `/apis/group/version/…`; nothing for all other paths.
    pub(super) fn of(path: &[String]) -> Option<Self> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let (group, version, rest) = match path.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // A namespace is an object too, with doors of its own.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
            rest => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
            _ => return None,
        };
        let owned = |text: &str| text.to_owned();
        let (name, subresource) = (name.map(owned), subresource.map(owned));
        Some(Self { group: owned(group), version: owned(version), plural: owned(plural), namespace, name, subresource })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Option<String> {
        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
        let target = Target::of(&path)?;
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let (namespace, name, door) = (or_none(target.namespace), or_none(target.name), or_none(target.subresource));
        Some(format!("{}/{} {} {namespace} {name} {door}", target.group, target.version, target.plural))
    }

    #[test]
    fn paths() {
        let cases = [
            ("api/v1/namespaces", "/v1 namespaces - - -"),
            ("api/v1/namespaces/a", "/v1 namespaces - a -"),
            ("api/v1/namespaces/a/status", "/v1 namespaces - a status"),
            ("api/v1/namespaces/a/services", "/v1 services a - -"),
            ("apis/g/v1/namespaces/a/things/x/status", "g/v1 things a x status"),
            ("apis/g/v1/things", "g/v1 things - - -"),
        ];
        for (path, expected) in cases {
            assert_eq!(target(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(target("apis/g/v1"), None);
    }

    #[test]
    fn options_are_decoded() {
        let uri = "/api/v1/services?labelSelector=a%3Db&watch=true&fieldManager=me".parse().unwrap();
        let request = Request::new(Method::GET, &uri, &HeaderMap::new(), Bytes::new());
        assert_eq!(request.options.get("labelSelector"), Some("a=b"));
        assert!(request.options.is("watch") && !request.options.is("allowWatchBookmarks"));
        assert_eq!(request.manager(), "me");
    }
}
