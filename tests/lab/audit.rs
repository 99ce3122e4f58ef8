//! The requests to an API server, and who sent them: its audit log.

use anyhow::Result;
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

/// One request. `verb` is Kubernetes' own: get, list, watch, create, update, patch, delete.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub verb: String,
    pub user: User,
    #[serde(default)]
    pub object_ref: ObjectRef,
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
    let all = text.lines().filter_map(|line| serde_json::from_str::<Request>(line).ok());
    Ok(all.filter(|request| request.user.username == user && request.starts()).collect())
}

impl Request {
    /// The answer's HTTP status; 0 where none was logged.
    pub fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
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
