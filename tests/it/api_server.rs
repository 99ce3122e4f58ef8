//! What an API server refuses by the definitions alone, on the one in memory; the lab tries it on a real one.

use std::sync::Arc;

use cutover::{
    api::{MemberCluster, crd::definitions},
    clock::Clock,
    sandbox::api::ApiServer,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::PostParams,
    core::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_member_that_does_not_say_who_may_use_it_is_refused() {
    let client = ApiServer::new(Arc::new(|| Clock::default().now()), 7).client();
    let kinds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let member = serde_json::from_value(definitions().unwrap().swap_remove(1)).unwrap();
    kinds.create(&PostParams::default(), &member).await.unwrap();
    let members: Api<DynamicObject> = Api::all_with(client, &ApiResource::erase::<MemberCluster>(&()));
    let create = async |allowed: Value| {
        let spec = json!({
            "endpoints": [{"host": "eu-1.example.com", "port": 443}], "allowedNamespaces": allowed,
            "prometheus": {"url": {"address": "https://prometheus.example.com"}}});
        let member = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": "eu-1"}, "spec": spec});
        let answer = members.create(&PostParams::default(), &serde_json::from_value(member).unwrap()).await;
        answer.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let without = create(json!(null)).await;
    assert!(without.contains("spec.allowedNamespaces: Required value"), "{without}");
    let half = create(json!({})).await;
    assert!(half.contains("spec.allowedNamespaces.from: Required value"), "{half}");
    assert_eq!(create(json!({"from": "All"})).await, "");
}
