//! What happened in a plan, as the server's own watches reported it.

use std::{collections::BTreeMap, sync::Arc};

use cutover::sandbox::api::{Author, Change, Verb};
use http::{header, request::Parts};
use jiff::Timestamp;
use serde_json::Value;

use super::{target::Target, watches::News};

#[derive(Default)]
pub struct Past {
    changes: Vec<Arc<Change>>,
    objects: BTreeMap<String, Arc<Value>>,
}

impl Past {
    /// Every change but the first `seen` ones.
    pub fn since(&self, seen: usize) -> Vec<Arc<Change>> {
        self.changes.get(seen..).unwrap_or_default().to_vec()
    }

    /// An object as it is stored.
    pub fn object(&self, key: &str) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    /// A change that the server reported.
    pub fn take(&mut self, news: News, author: Author, at: Timestamp) {
        let text = |key: &str| news.object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let (namespace, name, uid) = (text("namespace"), text("name"), text("uid"));
        let key = key(&news.plural, &namespace, &name);
        let revision = news.revision();
        let object = Arc::new(news.object);
        let after = (!news.gone).then(|| object.clone());
        let before = match &after {
            Some(after) => self.objects.insert(key, after.clone()),
            None => self.objects.remove(&key),
        };
        let verb = match (&before, &after) {
            (_, None) => Verb::Delete,
            (None, Some(_)) => Verb::Create,
            (Some(_), Some(_)) => Verb::Update,
        };
        let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
        let group = group.map(|(group, _)| group.to_owned()).unwrap_or_default();
        let plural = news.plural;
        let change = Change { revision, at, verb, group, plural, namespace, name, uid, author, before, after };
        self.changes.push(Arc::new(change));
    }
}

/// Names an object.
pub fn key(plural: &str, namespace: &str, name: &str) -> String {
    format!("{plural}/{namespace}/{name}")
}

/// The field manager, or else the first word of the user agent.
pub fn author(head: &Parts, target: &Target) -> Author {
    let agent = head.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let agent = agent.split('/').next().unwrap_or_default();
    let manager = target.option("fieldManager").unwrap_or(agent);
    let manager = if manager.is_empty() { "unknown" } else { manager }.to_owned();
    Author { manager, version: target.version.clone(), subresource: target.subresource.clone() }
}

/// Somebody whom no request of the plan explains.
pub fn unknown_author() -> Author {
    Author { manager: "nobody-in-this-plan".to_owned(), ..Author::default() }
}
