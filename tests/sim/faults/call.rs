//! Calls of the hub, read.

use std::collections::VecDeque;

use http::{Method, Request};

/// A call of the hub, read.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub plural: String,
    pub name: String,
    pub sub: String,
    pub watch: bool,
    pub dry: bool,
}

impl Call {
    pub fn of<B>(request: &Request<B>) -> Self {
        let mut parts = request.uri().path().split('/').filter(|part| !part.is_empty());
        let group = parts.next().unwrap_or_default();
        let skip = if group == "api" { 1 } else { 2 };
        let mut rest: VecDeque<&str> = parts.skip(skip).collect();
        if rest.len() > 2 && rest.front() == Some(&"namespaces") {
            rest.drain(..2);
        }
        let mut next = || rest.pop_front().unwrap_or_default().to_owned();
        let (plural, name, sub) = (next(), next(), next());
        let query = request.uri().query().unwrap_or_default();
        let (watch, dry) = (query.contains("watch=true"), query.contains("dryRun=All"));
        Self { method: request.method().clone(), plural, name, sub, watch, dry }
    }

    pub fn writes(&self) -> bool {
        self.method != Method::GET && !self.dry
    }

    pub fn is_lease(&self) -> bool {
        self.plural == "leases"
    }
}
