//! The members as they are reached from here, with the Secrets that the person may read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, api::ListParams};

use super::{check::first_line, read::Read};
use crate::{
    api::Purpose,
    cli::cluster::Cluster,
    http::Network,
    member::{Declared, Member, Secrets},
};

/// Every member, or why it cannot be reached from here.
pub(super) struct Fleet(BTreeMap<String, Result<Member, String>>);

impl Fleet {
    /// Reads the Secrets of the namespace of the hub.
    pub(super) async fn new(cluster: &Cluster, read: &Read, hub: &str, network: &Network, now: Timestamp) -> Self {
        let api: Api<Secret> = Api::namespaced(cluster.client.clone(), hub);
        let found = cluster.call(&[], api.list(&ListParams::default().labels(&Purpose::selector()))).await;
        let secrets = found.map(|list| list.items).map_err(|error| first_line(&error));
        let members = read.members.objects.iter().map(|object| {
            let name = object.name_any();
            let find = |name: &str| secrets.iter().flatten().find(|secret| secret.name_any() == name);
            let picked = Secrets::pick(&object.spec, hub, find);
            let member = match &secrets {
                Err(why) if !picked.is_empty() => Err(why.clone()),
                Ok(_) | Err(_) => Ok(Member::new(declared(object, picked), network.clone(), now)),
            };
            (name, member)
        });
        Self(members.collect())
    }

    /// A member by name.
    pub(super) fn member(&self, name: &str) -> Result<&Member, String> {
        let absent = || Err(format!("there is no MemberCluster {name}"));
        self.0.get(name).map_or_else(absent, |member| member.as_ref().map_err(Clone::clone))
    }
}

fn declared(object: &crate::api::MemberCluster, secrets: Secrets) -> Declared {
    Declared {
        name: object.name_any(),
        uid: object.uid(),
        generation: object.metadata.generation,
        spec: object.spec.clone(),
        secrets,
    }
}
