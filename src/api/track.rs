//! What belongs to a service beside its Service: the ConfigMaps and Secrets of the workloads behind it.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name;

/// On a ConfigMap or Secret: `"false"` leaves it out of what is tracked.
pub const TRACK_ANNOTATION: &str = "cutover.dev/track";
/// On a ConfigMap or Secret that the hub made: the name of the one of which it is a copy.
pub const COPY_OF_ANNOTATION: &str = "cutover.dev/copy-of";

/// The workloads behind a service. A change of a ConfigMap or Secret that their pods use is a change of the service.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Track {
    /// Workloads in the rollout's namespace: in the hub cluster where the service has a selector, else in the member that it
    /// leads to. The hub and the members need the roles of `config/rbac/hub-tracking.yaml` and
    /// `config/rbac/member-tracking.yaml`.
    #[schemars(length(min = 1, max = 8))]
    pub workloads: Vec<Workload>,
    /// Service mode, workloads in the hub cluster: keeps a copy `<name>-primary` of each ConfigMap and Secret, for workloads
    /// that serve as the primary. A copy has the content that passed last, and changes while the primary has no traffic. The
    /// rollouts that keep it own it. The hub needs the role of `config/rbac/hub-tracking-copies.yaml`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub primary_copies: bool,
}

/// A workload, whose pod template names what is tracked.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
}

/// The kinds of workloads that can be tracked, all of the group `apps`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// A Deployment.
    Deployment,
    /// A StatefulSet.
    StatefulSet,
    /// A DaemonSet.
    DaemonSet,
}

impl WorkloadKind {
    /// Its resource, as in a path of the API.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Deployment => "deployments",
            Self::StatefulSet => "statefulsets",
            Self::DaemonSet => "daemonsets",
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}

/// The cluster in which the workloads behind a service run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// The hub cluster.
    Hub,
    /// A member, by name.
    Member(String),
}

impl Site {
    /// How the names of what is tracked there begin.
    fn prefix(&self) -> String {
        match self {
            Self::Hub => String::new(),
            Self::Member(name) => format!("{name}/"),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub => f.write_str("the hub cluster"),
            Self::Member(name) => f.write_str(name),
        }
    }
}

/// The fingerprint of what need not exist and does not.
pub const ABSENT: &str = "absent";

/// Fingerprints of ConfigMaps and Secrets by name: `ConfigMap/shop` in the hub cluster, `eu-3/ConfigMap/shop` in a member. A
/// fingerprint is a SHA-256 in hexadecimal digits, or `absent` for one that need not exist and does not.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(transparent)]
pub struct Configs(BTreeMap<String, String>);

impl Configs {
    /// Nothing is tracked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those of a cluster, with what they are called there (`ConfigMap/shop`).
    pub fn at(site: &Site, found: impl IntoIterator<Item = (String, String)>) -> Self {
        let prefix = site.prefix();
        Self(found.into_iter().map(|(name, fingerprint)| (format!("{prefix}{name}"), fingerprint)).collect())
    }

    /// The fingerprint of one, by name.
    #[must_use]
    pub fn fingerprint(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names and fingerprints, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, fingerprint)| (name.as_str(), fingerprint.as_str()))
    }

    /// Those that fit.
    #[must_use]
    pub fn filter(&self, mut fits: impl FnMut(&str, &str) -> bool) -> Self {
        let those = self.iter().filter(|(name, fingerprint)| fits(name, fingerprint));
        Self(those.map(|(name, fingerprint)| (name.to_owned(), fingerprint.to_owned())).collect())
    }

    /// Adds others.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().map(|(name, fingerprint)| (name.clone(), fingerprint.clone())));
    }

    /// Those of one cluster.
    #[must_use]
    pub fn of(&self, site: &Site) -> Self {
        let prefix = site.prefix();
        // In the hub cluster a name has its kind and itself, in a member the member's name before that.
        let parts = prefix.matches('/').count() + 2;
        let is_there = |name: &str| name.starts_with(&prefix) && name.split('/').count() == parts;
        let there = self.0.iter().filter(|(name, _)| is_there(name));
        Self(there.map(|(name, fingerprint)| (name.clone(), fingerprint.clone())).collect())
    }

    /// Names of those that are new, gone, or not what they were.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> Vec<&'a str> {
        let changed = self.0.iter().filter(|(name, fingerprint)| before.0.get(*name) != Some(*fingerprint));
        let gone = before.0.keys().filter(|name| !self.0.contains_key(*name));
        let mut names: Vec<&str> = changed.map(|(name, _)| name).chain(gone).map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs(site: &Site, found: &[(&str, &str)]) -> Configs {
        Configs::at(site, found.iter().map(|(name, fingerprint)| ((*name).to_owned(), (*fingerprint).to_owned())))
    }

    #[test]
    fn what_changed_came_or_went_is_named_with_its_cluster() {
        let eu_3 = Site::Member("eu-3".to_owned());
        let mut before = configs(&eu_3, &[("ConfigMap/shop", "1"), ("Secret/token", "2"), ("ConfigMap/same", "3")]);
        before.extend(&configs(&Site::Hub, &[("ConfigMap/shop", "1")]));
        let mut after = configs(&eu_3, &[("ConfigMap/shop", "9"), ("ConfigMap/same", "3")]);
        after.extend(&configs(&Site::Hub, &[("ConfigMap/shop", "1"), ("Secret/new", "absent")]));
        assert_eq!(after.changed_since(&before), ["Secret/new", "eu-3/ConfigMap/shop", "eu-3/Secret/token"]);
        assert_eq!(before.changed_since(&before), [""; 0]);
    }

    #[test]
    fn each_cluster_has_its_own() {
        let eu_3 = Site::Member("eu-3".to_owned());
        let mut all = configs(&eu_3, &[("ConfigMap/shop", "1")]);
        all.extend(&configs(&Site::Hub, &[("ConfigMap/shop", "2")]));
        assert_eq!(all.of(&eu_3), configs(&eu_3, &[("ConfigMap/shop", "1")]));
        assert_eq!(all.of(&Site::Hub), configs(&Site::Hub, &[("ConfigMap/shop", "2")]));
        assert!(all.of(&Site::Member("eu-4".to_owned())).is_empty());
    }
}
