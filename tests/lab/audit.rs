//! The requests to an API server, and who sent them: its audit log.

use anyhow::Result;
use http::{Method, Uri};
use jiff::Timestamp;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// One request. `verb` is Kubernetes' own: get, list, watch, create, update, patch, delete.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub verb: String,
    pub user: User,
    #[serde(default)]
    pub object_ref: ObjectRef,
    /// When it had arrived, and when its answer was complete.
    #[serde(rename = "requestReceivedTimestamp")]
    pub arrived: Timestamp,
    #[serde(rename = "stageTimestamp")]
    pub answered: Timestamp,
    #[serde(rename = "requestURI")]
    uri: String,
    response_status: Option<Status>,
    stage: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct User {
    pub username: String,
    /// What else is known of them, such as the id of their token.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ObjectRef {
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

impl ObjectRef {
    /// The object that `/api/v1/…` or `/apis/group/version/…` leads to.
    fn of(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let rest = match parts.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |place: usize| rest.get(place).copied().unwrap_or_default().to_owned();
        Self { resource: part(0), name: part(1), subresource: part(2), namespace: namespace.to_owned() }
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

/// The requests of one user so far, in the order in which they were logged; a watch counts when it starts.
pub fn requests(log: &Path, user: &str) -> Result<Vec<Request>> {
    let text = std::fs::read_to_string(log)?;
    Ok(read(&text).filter(|request| request.user.username == user).collect())
}

/// An audit log that is read on from where it was read before.
pub struct Follower {
    log: PathBuf,
    offset: u64,
}

impl Follower {
    /// From the log's first line on.
    pub fn new(log: PathBuf) -> Self {
        Self { log, offset: 0 }
    }

    /// The requests of all users that were logged since the last call.
    pub fn news(&mut self) -> Result<Vec<Request>> {
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // The last line may be half written.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        self.offset += text.len() as u64;
        Ok(read(&text).collect())
    }
}

fn read(lines: &str) -> impl Iterator<Item = Request> {
    lines.lines().filter_map(|line| serde_json::from_str::<Request>(line).ok()).filter(Request::starts)
}

impl Request {
    /// What another API server than a real one noted of a request; `at`: when it arrived and was answered.
    pub fn noted(method: &Method, uri: &Uri, user: &str, code: u16, at: (Timestamp, Timestamp)) -> Self {
        let object_ref = ObjectRef::of(uri.path());
        let verb = match method.as_str() {
            "GET" if uri.query().is_some_and(|query| query.contains("watch=")) => "watch",
            "GET" if object_ref.name.is_empty() => "list",
            "POST" => "create",
            "PUT" => "update",
            other => &other.to_lowercase(),
        };
        Self {
            verb: verb.to_owned(),
            user: User { username: user.to_owned(), extra: BTreeMap::new() },
            object_ref,
            arrived: at.0,
            answered: at.1,
            uri: uri.to_string(),
            response_status: Some(Status { code, message: String::new() }),
            stage: String::new(),
        }
    }

    /// The answer's HTTP status; 0 where none was logged.
    pub fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
    }

    /// A write that the API server only tries.
    pub fn is_dry_run(&self) -> bool {
        self.uri.contains("dryRun=")
    }

    /// The resource with its subresource, such as `fleetrollouts/status`.
    pub fn resource(&self) -> String {
        let object = &self.object_ref;
        let slash = if object.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", object.resource, object.subresource)
    }

    /// Refused by the authorizer, and not by admission.
    pub fn is_beyond_rights(&self) -> bool {
        let message = self.response_status.as_ref().map_or("", |status| status.message.as_str());
        self.code() == 403 && message.contains("is forbidden: User ")
    }

    /// A long-running request is logged twice, at the start of its response and at its end.
    fn starts(&self) -> bool {
        (self.verb == "watch") == (self.stage == "ResponseStarted")
    }
}
