//! What is kept of an object in memory: clusters have many with long annotations, of which rollouts name few.

use kube::{
    ResourceExt,
    core::{ApiResource, DynamicObject, ObjectMeta, TypeMeta},
};
use serde_json::json;

use crate::{api::ROLLOUT_LABEL, object::owner::is_made_by_cutover, route};

/// On what is kept of an object that nobody names; no kind has such a field.
const CUT: &str = "cutover.dev/cut";

/// Drops what nobody reads. Of an object that a rollout names, or that the hub made, all is kept that a write must repeat.
pub(super) fn trim(resource: &ApiResource, object: &mut DynamicObject, named: bool) {
    // Objects of a list do not say their kind.
    let (api_version, kind) = (resource.api_version.clone(), resource.kind.clone());
    object.types.get_or_insert(TypeMeta { api_version, kind });
    if !named && !is_made_by_cutover(object) && !object.labels().contains_key(ROLLOUT_LABEL) {
        cut(object, resource);
    } else if resource.kind == "Service" {
        trim_service(object);
    }
}

/// A part of this object was dropped.
pub(super) fn is_cut(object: &DynamicObject) -> bool {
    object.data.get(CUT).is_some()
}

/// Of a Service only the spec is read, and who writes those that a route may be, or that the hub made.
fn trim_service(object: &mut DynamicObject) {
    let is_switched = object.data.pointer("/spec/type").is_some_and(|kind| kind == "ExternalName");
    let is_edited = is_switched || is_made_by_cutover(object);
    object.metadata.managed_fields = object.metadata.managed_fields.take().filter(|_| is_edited);
    if let Some(fields) = object.data.as_object_mut() {
        fields.remove("status");
    }
}

/// Leaves which object it is, and what a route reads of its neighbours.
fn cut(object: &mut DynamicObject, resource: &ApiResource) {
    let (annotations, data) = route::read_of_neighbour(&resource.kind, object);
    let all = std::mem::take(&mut object.metadata);
    object.metadata = ObjectMeta {
        name: all.name,
        namespace: all.namespace,
        uid: all.uid,
        resource_version: all.resource_version,
        annotations: (!annotations.is_empty()).then_some(annotations),
        ..ObjectMeta::default()
    };
    object.data = data;
    object.data[CUT] = json!(true);
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::hub::fixtures::objects::backend;

    fn service() -> ApiResource {
        ApiResource::erase::<k8s_openapi::api::core::v1::Service>(&())
    }

    fn ingress() -> ApiResource {
        ApiResource::erase::<k8s_openapi::api::networking::v1::Ingress>(&())
    }

    /// What is kept of an object.
    fn kept(resource: &ApiResource, object: &Value, named: bool) -> Value {
        let mut object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        trim(resource, &mut object, named);
        assert_eq!(is_cut(&object), object.data.get(CUT).is_some());
        let mut kept = serde_json::to_value(object).unwrap();
        kept.as_object_mut().unwrap().remove(CUT);
        kept
    }

    /// An object as a chart and `kubectl apply` leave it: with annotations of tools, the applied manifest in one of them,
    /// managed fields and a status.
    fn annotated(kind: &str, spec: &Value, own: &Value) -> Value {
        let mut annotations = json!({
            "meta.helm.sh/release-name": "storefront", "meta.helm.sh/release-namespace": "shop",
            "argocd.argoproj.io/tracking-id": "storefront:/Service:shop/storefront",
            "prometheus.io/scrape": "true", "prometheus.io/port": "9090",
            "external-dns.alpha.kubernetes.io/hostname": "storefront.example.com",
            "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
        });
        json_patch::merge(&mut annotations, own);
        let labels = json!({"app.kubernetes.io/name": "storefront", "app.kubernetes.io/instance": "storefront",
                            "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "storefront-4.1.2"});
        let applied = json!({"kind": kind, "metadata": {"annotations": annotations, "labels": labels}, "spec": spec});
        annotations["kubectl.kubernetes.io/last-applied-configuration"] = json!(applied.to_string());
        let fields: serde_json::Map<String, Value> =
            annotations.as_object().unwrap().keys().map(|key| (format!("f:{key}"), json!({}))).collect();
        let managed = |manager: &str| {
            json!({"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                   "fieldsV1": {"f:metadata": {"f:annotations": fields}, "f:spec": {"f:ports": {}, "f:selector": {}}}})
        };
        json!({
            "kind": kind, "apiVersion": "v1",
            "metadata": {"name": "storefront", "namespace": "shop", "uid": "6f1e9a52-77aa-4b0e-9d9a-0d2f6c1e2a3b",
                         "resourceVersion": "123456", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
                         "labels": labels, "annotations": annotations,
                         "managedFields": [managed("helm"), managed("kubectl-edit")]},
            "spec": spec,
            "status": {"loadBalancer": {"ingress": [{"hostname": "a1b2c3.elb.example.com"}]}},
        })
    }

    fn typical_service() -> Value {
        let spec = json!({"type": "ClusterIP", "clusterIP": "10.96.4.7", "clusterIPs": ["10.96.4.7"],
                          "selector": {"app.kubernetes.io/name": "storefront"},
                          "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]});
        annotated("Service", &spec, &json!({}))
    }

    fn typical_ingress() -> Value {
        let backend = json!({"service": {"name": "storefront", "port": {"number": 80}}});
        let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
        let spec = json!({"ingressClassName": "alb", "tls": [{"hosts": ["shop.example.com"], "secretName": "shop"}],
                          "rules": [{"host": "shop.example.com", "http": {"paths": [path]}}]});
        let own = json!({"alb.ingress.kubernetes.io/order": "12", "kubernetes.io/ingress.class": "alb",
                         "nginx.ingress.kubernetes.io/configuration-snippet": "more_set_headers 'x: y';"});
        annotated("Ingress", &spec, &own)
    }

    #[test]
    fn of_a_service_that_nobody_names_only_its_identity_is_kept() {
        let metadata = json!({"name": "storefront", "namespace": "shop", "resourceVersion": "123456",
                              "uid": "6f1e9a52-77aa-4b0e-9d9a-0d2f6c1e2a3b"});
        let expected = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata});
        assert_eq!(kept(&service(), &typical_service(), false), expected);
    }

    #[test]
    fn of_an_ingress_that_nobody_names_its_order_class_and_places_are_kept_as_well() {
        let metadata = json!({"name": "storefront", "namespace": "shop", "resourceVersion": "123456",
                              "uid": "6f1e9a52-77aa-4b0e-9d9a-0d2f6c1e2a3b",
                              "annotations": {"alb.ingress.kubernetes.io/order": "12",
                                              "kubernetes.io/ingress.class": "alb"}});
        let rules = json!([{"host": "shop.example.com", "http": {"paths": [{"path": "/"}]}}]);
        let spec = json!({"ingressClassName": "alb", "rules": rules});
        let expected = json!({"apiVersion": "v1", "kind": "Ingress", "metadata": metadata, "spec": spec});
        assert_eq!(kept(&ingress(), &typical_ingress(), false), expected);
    }

    #[test]
    fn of_what_is_named_all_is_kept_that_a_write_repeats() {
        let mut expected = typical_service();
        expected.as_object_mut().unwrap().remove("status");
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(kept(&service(), &typical_service(), true), expected);
        assert_eq!(kept(&ingress(), &typical_ingress(), true), typical_ingress());
    }

    #[test]
    fn a_tenth_is_kept_of_what_nobody_names() {
        let bytes = |resource: &ApiResource, object: &Value| {
            [object.to_string().len(), kept(resource, object, false).to_string().len()]
        };
        assert_eq!(bytes(&service(), &typical_service()), [2947, 160]);
        assert_eq!(bytes(&ingress(), &typical_ingress()), [3629, 355]);
    }

    #[test]
    fn what_the_hub_made_is_kept_although_nobody_names_it() {
        let mut made = backend("eu-1", "1");
        made["metadata"]["managedFields"] = json!([{"manager": "cutover"}]);
        assert_eq!(kept(&service(), &made, false), made);
        let mut labelled = typical_service();
        labelled["metadata"]["labels"] = json!({ROLLOUT_LABEL: "uid-1"});
        assert_eq!(kept(&service(), &labelled, false)["spec"], labelled["spec"], "leftovers are found by this label");
    }

    #[test]
    fn managed_fields_are_kept_of_services_that_are_judged_by_them() {
        let managers = |kind: &str| {
            let mut object = typical_service();
            object["spec"]["type"] = json!(kind);
            kept(&service(), &object, true)["metadata"]["managedFields"].as_array().map_or(0, Vec::len)
        };
        assert_eq!((managers("ClusterIP"), managers("ExternalName")), (0, 2));
    }

    #[test]
    fn an_object_of_a_list_gets_the_kind_of_the_list() {
        let kept = kept(&service(), &json!({"metadata": {"name": "shop"}, "spec": {}}), true);
        assert_eq!((&kept["apiVersion"], &kept["kind"]), (&json!("v1"), &json!("Service")));
    }
}
