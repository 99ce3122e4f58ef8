//! A request to the API server, read.

use std::collections::VecDeque;

use http::{Method, request::Parts};

/// What a request is about.
#[derive(Debug)]
pub struct Target {
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

impl Target {
    pub fn of(head: &Parts) -> Self {
        let mut parts: VecDeque<&str> = head.uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let is_core = parts.pop_front() == Some("api");
        let group = if is_core { None } else { parts.pop_front() };
        let version = parts.pop_front();
        // `namespaces/a/services/b` is about a Service, `namespaces/a` and `namespaces/a/status` about the namespace.
        let is_within = parts.len() > 2 && parts[0] == "namespaces" && !["status", "finalize"].contains(&parts[2]);
        let namespace = is_within.then(|| parts.drain(..2).skip(1).map(str::to_owned).collect());
        let (plural, name, subresource) = (parts.pop_front(), parts.pop_front(), parts.pop_front());
        let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
        Self {
            method: head.method.clone(),
            group: text(group),
            version: text(version),
            plural: text(plural),
            namespace,
            name: text(name),
            subresource: subresource.map(str::to_owned),
            query: text(head.uri.query()),
        }
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
