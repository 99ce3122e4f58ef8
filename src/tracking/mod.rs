//! What a service's workloads use of ConfigMaps and Secrets, by name and fingerprint.
//!
//! Contents are hashed where they arrive, and nothing else of them is kept.

mod content;
mod copies;
mod references;

use std::sync::Arc;

use kube::Client;
use serde_json::Value;

use self::{content::fingerprint, references::references};
use crate::{
    api::{
        Reason,
        track::{ABSENT, Configs, Site, Workload},
    },
    member::Member,
    rollout::input::Problem,
};

pub(crate) use copies::{CopyError, copy, read_copies, released_copy};

/// ConfigMaps and Secrets that the workloads behind one service may use in one cluster.
const MOST: usize = 32;

/// A cluster that can be read.
pub(crate) enum Source {
    /// The hub cluster.
    Hub(Client),
    /// A member.
    Member(Arc<Member>),
}

/// Where to read what.
pub(crate) struct Place<'a> {
    /// The cluster.
    pub(crate) site: &'a Site,
    /// The namespace of workloads, ConfigMaps and Secrets.
    pub(crate) namespace: &'a str,
    /// The rollout's uid: equal Secrets of two rollouts have other fingerprints.
    pub(crate) salt: &'a str,
}

/// Fingerprints of all that these workloads use.
///
/// # Errors
/// When a workload, or something that it needs, does not exist or cannot be read.
pub(crate) async fn read(source: &Source, place: &Place<'_>, workloads: &[Workload]) -> Result<Configs, Problem> {
    let mut wanted = references::References::new();
    for workload in workloads {
        let path = format!("/apis/apps/v1/namespaces/{}/{}/{}", place.namespace, workload.kind.plural(), workload.name);
        let object = source.get(place, &path).await?.ok_or_else(|| absent(place, &workload.to_string()))?;
        references::merge(&mut wanted, references(&object["spec"]["template"]["spec"]));
    }
    if wanted.len() > MOST {
        let message =
            format!("{}: {} ConfigMaps and Secrets are used, at most {MOST} can be tracked", place.site, wanted.len());
        return Err(Problem::new(Reason::ConfigsUnknown, message));
    }
    let mut found = Vec::new();
    for (reference, is_required) in wanted {
        let fingerprint = match source.get(place, &reference.path(place.namespace)).await? {
            Some(object) => fingerprint(&object, &reference, place.salt),
            None if is_required => return Err(absent(place, &reference.to_string())),
            None => Some(ABSENT.to_owned()),
        };
        found.extend(fingerprint.map(|fingerprint| (reference.to_string(), fingerprint)));
    }
    Ok(Configs::at(place.site, found))
}

fn absent(place: &Place<'_>, what: &str) -> Problem {
    let message =
        format!("{}: {what} does not exist in namespace {}; make it, or correct `track`", place.site, place.namespace);
    Problem::new(Reason::ConfigsUnknown, message)
}

impl Source {
    /// An object; none where there is none.
    async fn get(&self, place: &Place<'_>, path: &str) -> Result<Option<Value>, Problem> {
        let (status, object) = match self {
            Self::Member(member) => member.read(path).await?,
            Self::Hub(client) => hub(client, path).await?,
        };
        match status {
            200 => Ok(Some(object)),
            404 => Ok(None),
            status => Err(refused(place, path, status)),
        }
    }
}

async fn hub(client: &Client, path: &str) -> Result<(u16, Value), Problem> {
    let unread = |why: String| Problem::new(Reason::ConfigsUnknown, format!("the hub cluster: GET {path}: {why}"));
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| unread(error.to_string()))?;
    match tokio::time::timeout(crate::http::DEADLINE, client.request::<Value>(request)).await {
        Ok(Ok(object)) => Ok((200, object)),
        Ok(Err(kube::Error::Api(status))) => Ok((status.code, Value::Null)),
        Ok(Err(error)) => Err(unread(crate::text::sanitise(&error.to_string()))),
        Err(_) => Err(unread(format!("no answer within {} s", crate::http::DEADLINE.as_secs()))),
    }
}

fn refused(place: &Place<'_>, path: &str, status: u16) -> Problem {
    let role = match place.site {
        Site::Hub => "config/rbac/hub-tracking.yaml",
        Site::Member(_) => "config/rbac/member-tracking.yaml",
    };
    let remedy = match status {
        401 | 403 => format!("give the hub that right ({role}), or remove `track`"),
        _ => "it is tried again".to_owned(),
    };
    Problem::new(
        Reason::ConfigsUnknown,
        format!("{}: the API server answered {status} to GET {path}; {remedy}", place.site),
    )
}

#[cfg(test)]
mod tests;
