//! A request to the API server, read.

use http::{Method, request::Parts};

/// What a request is about.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub method: Method,
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: Option<String>,
    pub name: String,
    pub subresource: Option<String>,
    query: String,
}

impl Asked {
    pub fn of(head: &Parts) -> Self {
        let mut parts = head.uri.path().split('/').filter(|part| !part.is_empty()).map(str::to_owned).peekable();
        let is_core = parts.next().is_some_and(|root| root == "api");
        let group = if is_core { String::new() } else { parts.next().unwrap_or_default() };
        let version = parts.next().unwrap_or_default();
        let mut plural = parts.next().unwrap_or_default();
        let mut namespace = None;
        if plural == "namespaces" {
            let name = parts.next();
            // A namespace itself has at most a subresource after its name.
            match (name, parts.peek().map(String::as_str)) {
                (Some(within), Some(kind)) if !["status", "finalize"].contains(&kind) => {
                    (namespace, plural) = (Some(within), parts.next().unwrap_or_default());
                }
                (name, _) => {
                    let subresource = parts.next();
                    return Self::new(head, [group, version, plural], None, name.unwrap_or_default(), subresource);
                }
            }
        }
        let name = parts.next().unwrap_or_default();
        let subresource = parts.next();
        Self::new(head, [group, version, plural], namespace, name, subresource)
    }

    fn new(
        head: &Parts,
        [group, version, plural]: [String; 3],
        namespace: Option<String>,
        name: String,
        subresource: Option<String>,
    ) -> Self {
        let query = head.uri.query().unwrap_or_default().to_owned();
        Self { method: head.method.clone(), group, version, plural, namespace, name, subresource, query }
    }

    pub fn option(&self, key: &str) -> Option<&str> {
        self.query.split('&').filter_map(|part| part.split_once('=')).find(|(name, _)| *name == key).map(|(_, v)| v)
    }

    pub fn is_watch(&self) -> bool {
        self.option("watch") == Some("true")
    }

    pub fn writes(&self) -> bool {
        self.method != Method::GET && self.option("dryRun").is_none()
    }

    /// Objects of all namespaces, or all objects that are in none.
    pub fn is_whole(&self) -> bool {
        self.name.is_empty() && self.namespace.is_none()
    }

    pub fn query(&self) -> &str {
        &self.query
    }
}
