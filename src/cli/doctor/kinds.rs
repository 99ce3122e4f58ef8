//! The API server's version, and the kinds of cutover in it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::Value;

use super::{
    check::{Check, Outcome, Section, first_line},
    difference::difference,
};
use crate::{
    api::{
        GROUP,
        crd::{definitions, schema},
    },
    cli::{CliError, cluster::Cluster},
    text::sanitise,
};

/// The first minor version with admission policies.
const OLDEST: u32 = 30;
const APPLY: &str = "apply those of this version: cutover crd | kubectl apply --server-side -f -";

/// What was read of one kind.
enum Read {
    /// Its definition, as stored.
    Definition(Value),
    /// There is none.
    Absent,
    /// Definitions cannot be read; whether the kind is served, where discovery says it.
    NotReadable { why: String, served: Option<bool> },
}

pub(super) async fn checks(cluster: &Cluster, version: &str, minor: &str) -> Vec<Check> {
    let definitions = match definitions() {
        Ok(definitions) => definitions,
        Err(error) => return vec![Check::new(Section::Kinds, "CRDs", Outcome::bad(error.to_string(), APPLY))],
    };
    let of_kinds = definitions.iter().map(async |definition| {
        let read = read(cluster, &name(definition)).await;
        Check::new(Section::Kinds, format!("CRD {}", name(definition)), judge(definition, &read))
    });
    let server = Check::new(Section::Kinds, "API server", of_version(version, minor));
    std::iter::once(server).chain(futures::future::join_all(of_kinds).await).collect()
}

fn name(definition: &Value) -> String {
    definition["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

async fn read(cluster: &Cluster, name: &str) -> Read {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let found = cluster.call(&[], api.get_opt(name)).await;
    match found.and_then(|found| found.map(|found| serde_json::to_value(found).map_err(CliError::said)).transpose()) {
        Ok(Some(definition)) => Read::Definition(definition),
        Ok(None) => Read::Absent,
        Err(error) => Read::NotReadable { why: first_line(&error), served: served(cluster, name).await },
    }
}

/// Whether discovery lists a kind.
async fn served(cluster: &Cluster, name: &str) -> Option<bool> {
    let version = format!("{GROUP}/v1alpha1");
    let listed =
        tokio::time::timeout(cluster.deadline, cluster.client.list_api_group_resources(&version)).await.ok()?;
    match listed {
        Ok(list) => Some(list.resources.iter().any(|resource| name.split('.').next() == Some(resource.name.as_str()))),
        Err(kube::Error::Api(status)) if status.code == 404 => Some(false),
        Err(_) => None,
    }
}

fn of_version(version: &str, minor: &str) -> Outcome {
    let version = sanitise(version);
    // Some clouds write "30+".
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<u32>() {
        Ok(minor) if minor >= OLDEST => Outcome::good(version),
        Ok(_) => Outcome::bad(
            format!("{version}: it has no ValidatingAdmissionPolicies"),
            format!("upgrade the hub cluster to 1.{OLDEST} or newer"),
        ),
        Err(_) => Outcome::not_known(
            format!("{version}: its minor version is no number"),
            format!("see that it is 1.{OLDEST} or newer"),
        ),
    }
}

fn judge(definition: &Value, read: &Read) -> Outcome {
    let this = env!("CARGO_PKG_VERSION");
    match read {
        Read::Absent | Read::NotReadable { served: Some(false), .. } => Outcome::bad("it does not exist", APPLY),
        Read::NotReadable { why, served } => {
            let served = if served.is_some() { "the kind is served; its schema is not known" } else { "not known" };
            let remedy = "as an administrator: cutover crd | kubectl diff --server-side -f -";
            Outcome::not_known(format!("{served}: {why}"), remedy)
        }
        Read::Definition(found) => match (not_established(found), other(definition, found)) {
            (Some(why), _) => Outcome::bad(why, "kubectl describe the CRD: another one may have its names"),
            (None, Some(place)) => {
                Outcome::bad(format!("its schema is not that of cutover {this}: it differs at {place}"), APPLY)
            }
            (None, None) => Outcome::good(format!("Established, with the schema of cutover {this}")),
        },
    }
}

fn not_established(found: &Value) -> Option<String> {
    let conditions = found["status"]["conditions"].as_array();
    let condition = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == "Established"));
    match condition {
        Some(condition) if condition["status"] == "True" => None,
        Some(condition) => {
            Some(format!("it is not Established: {}", sanitise(condition["message"].as_str().unwrap_or_default())))
        }
        None => Some("it is not Established".to_owned()),
    }
}

/// Where the schema of the version that this command uses differs.
fn other(definition: &Value, found: &Value) -> Option<String> {
    let version = &definition["spec"]["versions"][0]["name"];
    let versions = found["spec"]["versions"].as_array();
    let of_version = versions.and_then(|all| all.iter().find(|one| one["name"] == *version));
    let Some(of_version) = of_version else { return Some(format!("version {}", version.as_str().unwrap_or_default())) };
    let path = difference(schema(definition), &of_version["schema"]["openAPIV3Schema"], "")?;
    // A path of a schema is the path of a field with these words between.
    Some(sanitise(&path.replace("properties.", "").replace(".items", "[]")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rollouts() -> Value {
        definitions().unwrap().remove(0)
    }

    fn stored(edit: impl FnOnce(&mut Value)) -> Read {
        let mut definition = rollouts();
        definition["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
        edit(&mut definition);
        Read::Definition(definition)
    }

    #[test]
    fn a_definition_of_this_version_is_good_and_of_another_one_bad_with_the_place() {
        let this = env!("CARGO_PKG_VERSION");
        let good = format!("Established, with the schema of cutover {this}");
        assert_eq!(judge(&rollouts(), &stored(|_| ())), Outcome::Good(good));
        let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/weightTotal/description";
        let older = stored(|definition| *definition.pointer_mut(place).unwrap() = json!("another one"));
        let what = format!("its schema is not that of cutover {this}: it differs at spec.weightTotal.description");
        assert_eq!(judge(&rollouts(), &older), Outcome::bad(what, APPLY));
    }

    #[test]
    fn a_kind_that_is_not_established_or_not_there_is_bad() {
        let waiting = stored(|definition| definition["status"]["conditions"][0]["status"] = json!("False"));
        assert!(matches!(judge(&rollouts(), &waiting), Outcome::Bad { .. }));
        assert_eq!(judge(&rollouts(), &Read::Absent), Outcome::bad("it does not exist", APPLY));
    }

    #[test]
    fn where_definitions_may_not_be_read_discovery_says_whether_the_kind_is_served() {
        let read = |served| Read::NotReadable { why: "forbidden".to_owned(), served };
        assert_eq!(judge(&rollouts(), &read(Some(false))), Outcome::bad("it does not exist", APPLY));
        let remedy = "as an administrator: cutover crd | kubectl diff --server-side -f -";
        let known = Outcome::not_known("the kind is served; its schema is not known: forbidden", remedy);
        assert_eq!(judge(&rollouts(), &read(Some(true))), known);
        assert_eq!(judge(&rollouts(), &read(None)), Outcome::not_known("not known: forbidden", remedy));
    }

    #[test]
    fn an_api_server_without_admission_policies_is_too_old() {
        assert_eq!(of_version("v1.34.1", "34"), Outcome::good("v1.34.1"));
        assert_eq!(of_version("v1.30.2-eks", "30+"), Outcome::good("v1.30.2-eks"));
        assert!(matches!(of_version("v1.29.9", "29"), Outcome::Bad { .. }));
        assert!(matches!(of_version("v1.x", "x"), Outcome::NotKnown { .. }));
    }
}
