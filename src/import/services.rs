//! The Services among the files: how each is reached, and by which port.

use serde_json::Value;

use super::foreign::Foreign;
use crate::api::{Backend, copy::LEADS_TO_ANNOTATION, service::Named};

/// How what is behind a Service is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// By a name, in another cluster.
    ByName,
    /// By a selector, in the same cluster.
    BySelector,
}

impl Reached {
    /// The backend that fits.
    pub(super) fn backend(self) -> Backend {
        match self {
            Self::ByName => Backend::ExternalName(Named::default()),
            Self::BySelector => Backend::ClusterIp(Named::default()),
        }
    }
}

/// The Services of some files.
pub(super) struct Services<'f>(Vec<&'f Foreign>);

impl<'f> Services<'f> {
    /// Those among the objects.
    pub(super) fn among(objects: &'f [Foreign]) -> Self {
        Self(objects.iter().filter(|one| (one.group(), one.kind()) == ("", "Service")).collect())
    }

    /// The Service of this namespace and name.
    pub(super) fn find(&self, namespace: Option<&str>, name: &str) -> Option<&'f Foreign> {
        self.0.iter().copied().find(|service| service.name() == name && service.namespace() == namespace)
    }
}

/// How a Service is reached.
pub(super) fn reached(service: &Foreign) -> Reached {
    let kind = service.document.value.pointer("/spec/type").and_then(Value::as_str);
    if kind == Some("ExternalName") { Reached::ByName } else { Reached::BySelector }
}

/// The first port of a Service.
pub(super) fn port(service: &Foreign) -> Option<u16> {
    let port = service.document.value.pointer("/spec/ports/0/port").and_then(Value::as_u64)?;
    u16::try_from(port).ok().filter(|port| *port > 0)
}

/// Whether a Service says to which member it leads.
pub(super) fn says_member(service: &Foreign) -> bool {
    service.document.value["metadata"]["annotations"][LEADS_TO_ANNOTATION].is_string()
}

/// What to run so that a Service says to which member it leads, as lines of a comment.
pub(super) fn name_the_member(name: &str, namespace: Option<&str>, reached: Reached) -> [String; 2] {
    let which = match reached {
        Reached::ByName => "to which the Service leads",
        Reached::BySelector => "that is this very cluster",
    };
    let namespace = namespace.map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
    [
        format!("Name the MemberCluster {which}, whose Prometheus is read:"),
        format!("$ kubectl annotate service {name}{namespace} {LEADS_TO_ANNOTATION}=MEMBER"),
    ]
}
