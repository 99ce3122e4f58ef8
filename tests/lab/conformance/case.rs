//! One request, as a line of text: `METHOD path body`.
//!
//! - `MERGE`, `JSON`, `STRATEGIC` and `APPLY` are a PATCH of that type; `WATCH` is a GET of a watch that lasts a second.
//! - A path without leading slash begins with the short name of a kind (see `kinds::path`).
//! - `@rv` and `@uid` are those of the last object that this server answered with, `@rv1` of the first one in this file.
//! - `@continue` is the token of the last list.
//! - A body of POST or PUT gets the apiVersion and kind of its path, where it says none; after `RAW` it is sent as it is.
//! - A line that begins with `#` is for the reader.

use anyhow::{Context, Result};
use http::Method;
use std::fmt;

#[derive(Clone, Debug)]
pub struct Case {
    word: String,
    pub path: String,
    pub body: String,
    pub raw: bool,
    /// Who writes.
    pub agent: String,
}

impl Case {
    pub fn new(word: &str, path: &str, body: &str) -> Self {
        let (path, body) = (path.to_owned(), body.to_owned());
        Self { word: word.to_owned(), path, body, raw: false, agent: "conformance/1".to_owned() }
    }

    pub fn read(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| Self::read_line(line).with_context(|| line.to_owned())).collect()
    }

    fn read_line(line: &str) -> Result<Self> {
        let (agent, line) = match line.strip_prefix("AS ") {
            Some(rest) => rest.split_once(' ').context("AS whom?")?,
            None => ("conformance/1", line),
        };
        let (raw, line) = line.strip_prefix("RAW ").map_or((false, line), |rest| (true, rest));
        let (word, rest) = line.split_once(' ').context("a method and a path")?;
        let (path, body) = rest.split_once(' ').unwrap_or((rest, ""));
        Ok(Self { raw, agent: agent.to_owned(), ..Self::new(word, path, body.trim()) })
    }

    pub fn method(&self) -> Result<Method> {
        Ok(match self.word.as_str() {
            "MERGE" | "JSON" | "STRATEGIC" | "APPLY" => Method::PATCH,
            "WATCH" | "TABLE" => Method::GET,
            other => other.parse()?,
        })
    }

    pub fn content_type(&self) -> &'static str {
        match self.word.as_str() {
            "MERGE" => "application/merge-patch+json",
            "JSON" => "application/json-patch+json",
            "STRATEGIC" => "application/strategic-merge-patch+json",
            "APPLY" => "application/apply-patch+yaml",
            _ => "application/json",
        }
    }

    pub fn accept(&self) -> &'static str {
        if self.word == "TABLE" { "application/json;as=Table;v=v1;g=meta.k8s.io" } else { "application/json" }
    }

    pub fn is_watch(&self) -> bool {
        self.word == "WATCH"
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = if self.raw { "RAW " } else { "" };
        write!(f, "{raw}{} {} {:.300}", self.word, self.path, self.body)
    }
}
