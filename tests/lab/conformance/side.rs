//! One of the two servers, and what it answered so far.

use super::{case::Case, kinds, mask::Mask};
use anyhow::{Context, Result, ensure};
use http::{Request, header};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use std::{fmt, time::Duration};

/// An answer without what is different each time.
#[derive(PartialEq)]
pub struct Answer {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.code, self.body, self.warnings.join(" "))
    }
}

pub struct Side {
    client: Client,
    pub namespace: String,
    mask: Mask,
    /// `@rv`, `@uid`, `@rv1`, `@continue`.
    last: Remembered,
}

#[derive(Default)]
struct Remembered {
    rv: String,
    uid: String,
    first: String,
    token: String,
}

impl Side {
    pub fn new(client: Client) -> Self {
        Self { client, namespace: String::new(), mask: Mask::default(), last: Remembered::default() }
    }

    /// Makes a namespace and asks in it from now on.
    pub async fn enter(&mut self, namespace: &str) -> Result<()> {
        let object = json!({"metadata": {"name": namespace}});
        self.must(&Case::new("POST", "/api/v1/namespaces", &object.to_string())).await?;
        namespace.clone_into(&mut self.namespace);
        Ok(())
    }

    pub fn forget(&mut self) {
        (self.mask, self.last) = (Mask::default(), Remembered::default());
    }

    /// What it answers, comparable.
    pub async fn ask(&mut self, case: &Case) -> Result<Answer> {
        let (code, body, warnings) = self.send(case).await.with_context(|| case.to_string())?;
        let mut events: Vec<Value> = body.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut body = match events.len() {
            1 if !case.is_watch() => events.remove(0),
            _ if case.is_watch() && !events.is_empty() => Value::Array(events),
            _ => serde_json::from_str(&body).unwrap_or(Value::String(body)),
        };
        self.remember(&body);
        self.mask.hide(&mut body);
        Ok(Answer { code, body, warnings })
    }

    /// For what must succeed for the rest to mean something.
    pub async fn must(&mut self, case: &Case) -> Result<String> {
        let (code, body, _) = self.send(case).await?;
        ensure!(code < 300, "{case}: {code} {body:.300}");
        Ok(body)
    }

    async fn send(&self, case: &Case) -> Result<(u16, String, Vec<String>)> {
        let path = self.path(case)?;
        let body = if case.raw { self.filled(&case.body) } else { with_kind(case, &path, &self.filled(&case.body)) };
        let request = Request::builder()
            .method(case.method()?)
            .uri(&path)
            .header(header::CONTENT_TYPE, case.content_type())
            .header(header::ACCEPT, case.accept())
            .header(header::USER_AGENT, &case.agent)
            .body(Body::from(body.into_bytes()))?;
        let (head, body) = self.client.send(request).await?.into_parts();
        let warnings = head.headers.get_all(header::WARNING).iter();
        let warnings = warnings.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
        let body = tokio::time::timeout(Duration::from_secs(20), body.collect_bytes()).await.context("no end")??;
        Ok((head.status.as_u16(), String::from_utf8_lossy(&body).into_owned(), warnings))
    }

    fn path(&self, case: &Case) -> Result<String> {
        let path = self.filled(&case.path);
        let mut path = if path.starts_with('/') {
            path
        } else {
            let end = path.find(['/', '?']).unwrap_or(path.len());
            let start = kinds::path(&path[..end], &self.namespace).with_context(|| format!("no kind {path}"))?;
            format!("{start}{}", &path[end..])
        };
        if case.is_watch() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str("watch=true&timeoutSeconds=1");
        }
        Ok(path)
    }

    fn filled(&self, text: &str) -> String {
        let last = &self.last;
        text.replace("@ns", &self.namespace)
            .replace("@rv1", &last.first)
            .replace("@rv", &last.rv)
            .replace("@uid", &last.uid)
            .replace("@continue", &last.token)
    }

    fn remember(&mut self, body: &Value) {
        let metadata = &body["metadata"];
        let text = |key: &str| metadata[key].as_str().map(str::to_owned);
        if let Some(token) = text("continue").filter(|token| !token.is_empty()) {
            self.last.token = token;
        }
        if let (Some(uid), Some(rv)) = (text("uid"), text("resourceVersion")) {
            if self.last.first.is_empty() {
                self.last.first.clone_from(&rv);
            }
            (self.last.uid, self.last.rv) = (uid, rv);
        }
    }
}

/// A body with the apiVersion and kind of its path.
fn with_kind(case: &Case, path: &str, body: &str) -> String {
    let writes = case.method().is_ok_and(|method| method == "POST" || method == "PUT");
    let (true, Some((api_version, kind)), Ok(Value::Object(mut fields))) =
        (writes, kinds::kind(path), serde_json::from_str(body))
    else {
        return body.to_owned();
    };
    fields.entry("apiVersion").or_insert_with(|| api_version.into());
    fields.entry("kind").or_insert_with(|| kind.into());
    Value::Object(fields).to_string()
}
