//! The admission policies are there, bound, and as the repository has them.

use kube::{
    Api,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::Value;

use super::{
    check::{Check, Outcome, Section},
    difference::difference,
    shipped::ADMISSION,
};
use crate::{
    cli::{CliError, cluster::Cluster},
    text::sanitise,
};

pub(super) async fn checks(cluster: &Cluster, namespace: &str) -> Vec<Check> {
    let shipped =
        ADMISSION.into_iter().flat_map(|file| file.objects(namespace).into_iter().map(move |one| (file.path, one)));
    let checks = shipped.map(async |(file, shipped)| {
        let found = read(cluster, &shipped).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let subject = format!("{} {}", text(&shipped["kind"]), text(&shipped["metadata"]["name"]));
        Check::new(Section::Admission, subject, judge(&shipped, found, file))
    });
    futures::future::join_all(checks).await
}

async fn read(cluster: &Cluster, shipped: &Value) -> Result<Option<Value>, CliError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", &text(&shipped["kind"]));
    let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &ApiResource::from_gvk(&kind));
    let found = cluster.call(&[], api.get_opt(&text(&shipped["metadata"]["name"]))).await?;
    found.map(|found| serde_json::to_value(found).map_err(CliError::said)).transpose()
}

fn judge(shipped: &Value, found: Result<Option<Value>, CliError>, file: &str) -> Outcome {
    let apply = format!("apply {file}; cutover install prints it");
    match found {
        Err(error) => Outcome::unreadable(&error, &format!("as an administrator: kubectl diff -f {file}")),
        Ok(None) => Outcome::bad("it does not exist, so what it forbids is allowed", apply),
        Ok(Some(found)) => match difference(&shipped["spec"], &found["spec"], "spec") {
            None => Outcome::good(format!("as in {file}")),
            Some(place) => {
                Outcome::bad(format!("it is not that of this version: it differs at {}", sanitise(&place)), apply)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shipped() -> Value {
        ADMISSION[1].objects("cutover-system").remove(0)
    }

    #[test]
    fn a_policy_is_good_as_an_api_server_stores_it_and_bad_if_it_was_weakened() {
        let file = ADMISSION[1].path;
        let mut stored = shipped();
        stored["spec"]["matchConstraints"]["matchPolicy"] = json!("Equivalent");
        stored["spec"]["matchConstraints"]["namespaceSelector"] = json!({});
        stored["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = json!("*");
        assert_eq!(judge(&shipped(), Ok(Some(stored.clone())), file), Outcome::good(format!("as in {file}")));
        stored["spec"]["failurePolicy"] = json!("Ignore");
        let Outcome::Bad { what, .. } = judge(&shipped(), Ok(Some(stored)), file) else { panic!() };
        assert_eq!(what, "it is not that of this version: it differs at spec.failurePolicy");
    }

    #[test]
    fn a_policy_that_is_not_there_or_not_readable_is_said_so() {
        let file = ADMISSION[1].path;
        assert!(matches!(judge(&shipped(), Ok(None), file), Outcome::Bad { .. }));
        let forbidden = Err(CliError::Said("you may not\nask".to_owned()));
        let remedy = "as an administrator: kubectl diff -f config/admission/requested-by.yaml";
        assert_eq!(judge(&shipped(), forbidden, file), Outcome::not_known("you may not", remedy));
    }
}
