//! What is read of a cluster for an import: the object that a tool is about, and those to which it refers.

use serde_json::Value;

/// A tool whose objects are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// <https://flagger.app>
    Flagger,
    /// <https://argo-rollouts.readthedocs.io>
    ArgoRollouts,
    /// <https://openkruise.io/rollouts>
    Kruise,
}

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its API group; empty for the core group.
    pub group: &'static str,
    /// The version that is read.
    pub version: &'static str,
    /// Its name: `Canary`.
    pub kind: &'static str,
    /// Its name in paths: `canaries`.
    pub plural: &'static str,
    /// Whether its objects are in a namespace.
    pub namespaced: bool,
}

/// An object to which another refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referred {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace, where that is not the other's.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

const fn namespaced(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, namespaced: true }
}

const SERVICE: Kind = namespaced("", "v1", "Service", "services");
const CANARY: Kind = namespaced("flagger.app", "v1beta1", "Canary", "canaries");
const METRIC_TEMPLATE: Kind = namespaced("flagger.app", "v1beta1", "MetricTemplate", "metrictemplates");
const ALERT_PROVIDER: Kind = namespaced("flagger.app", "v1beta1", "AlertProvider", "alertproviders");
const ROLLOUT: Kind = namespaced("argoproj.io", "v1alpha1", "Rollout", "rollouts");
const ANALYSIS_TEMPLATE: Kind = namespaced("argoproj.io", "v1alpha1", "AnalysisTemplate", "analysistemplates");
const CLUSTER_ANALYSIS_TEMPLATE: Kind = Kind {
    namespaced: false,
    ..namespaced("argoproj.io", "v1alpha1", "ClusterAnalysisTemplate", "clusteranalysistemplates")
};
const KRUISE_ROLLOUT: Kind = namespaced("rollouts.kruise.io", "v1beta1", "Rollout", "rollouts");
const TRAFFIC_ROUTING: Kind = namespaced("rollouts.kruise.io", "v1alpha1", "TrafficRouting", "trafficroutings");

impl Tool {
    /// The kind that it is about.
    pub const fn subject(self) -> Kind {
        match self {
            Self::Flagger => CANARY,
            Self::ArgoRollouts => ROLLOUT,
            Self::Kruise => KRUISE_ROLLOUT,
        }
    }

    /// Phases in which all traffic is where it stays.
    pub const fn at_rest(self) -> &'static [&'static str] {
        match self {
            Self::Flagger => &["Initialized", "Succeeded"],
            Self::ArgoRollouts | Self::Kruise => &["Healthy"],
        }
    }

    /// The objects that an object of this tool names and a translation needs.
    pub fn refers(self, object: &Value) -> Vec<Referred> {
        let mut found = Vec::new();
        match self {
            Self::Flagger => flagger(&object["spec"], &mut found),
            Self::ArgoRollouts => within(&object["spec"], &mut argo_rollouts, &mut found),
            Self::Kruise => within(&object["spec"], &mut kruise, &mut found),
        }
        found.retain(|one| is_name(&one.name) && one.namespace.as_deref().is_none_or(is_name));
        found
    }
}

/// It becomes part of a path, and whoever wrote the object may mean ill.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('.') && !text.ends_with('.')
}

fn here(kind: Kind, name: &str) -> Referred {
    Referred { kind, namespace: None, name: name.to_owned() }
}

/// Every mapping of a value, those that contain others first.
fn within(value: &Value, of: &mut impl FnMut(&Value, &mut Vec<Referred>), found: &mut Vec<Referred>) {
    match value {
        Value::Object(fields) => {
            of(value, found);
            fields.values().for_each(|field| within(field, of, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| within(entry, of, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn flagger(spec: &Value, found: &mut Vec<Referred>) {
    let target = &spec["targetRef"];
    if target["kind"] == "Service" {
        found.extend(target["name"].as_str().map(|name| here(SERVICE, name)));
    }
    for (list, key, kind) in [("metrics", "templateRef", METRIC_TEMPLATE), ("alerts", "providerRef", ALERT_PROVIDER)] {
        for reference in spec["analysis"][list].as_array().into_iter().flatten().map(|entry| &entry[key]) {
            let namespace = reference["namespace"].as_str().map(str::to_owned);
            let named = reference["name"].as_str();
            found.extend(named.map(|name| Referred { namespace, ..here(kind, name) }));
        }
    }
}

fn argo_rollouts(fields: &Value, found: &mut Vec<Referred>) {
    for key in ["stableService", "canaryService", "activeService", "previewService"] {
        found.extend(fields[key].as_str().map(|name| here(SERVICE, name)));
    }
    let kind = if fields["clusterScope"] == true { CLUSTER_ANALYSIS_TEMPLATE } else { ANALYSIS_TEMPLATE };
    found.extend(fields["templateName"].as_str().map(|name| here(kind, name)));
}

fn kruise(fields: &Value, found: &mut Vec<Referred>) {
    found.extend(fields["trafficRoutingRef"].as_str().map(|name| here(TRAFFIC_ROUTING, name)));
    found.extend(fields["service"].as_str().map(|name| here(SERVICE, name)));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(tool: Tool, object: &Value) -> Vec<String> {
        let shown = |one: Referred| {
            format!("{} {}{}", one.kind.kind, one.namespace.map(|of| of + "/").unwrap_or_default(), one.name)
        };
        tool.refers(object).into_iter().map(shown).collect()
    }

    #[test]
    fn a_canary_names_its_service_templates_and_providers() {
        let canary = json!({"spec": {
            "targetRef": {"kind": "Service", "name": "orders"},
            "analysis": {
                "metrics": [{"name": "request-duration"}, {"templateRef": {"name": "errors", "namespace": "metrics"}}],
                "alerts": [{"providerRef": {"name": "chat"}}],
            },
        }});
        assert_eq!(
            named(Tool::Flagger, &canary),
            ["Service orders", "MetricTemplate metrics/errors", "AlertProvider chat"]
        );
        let of_pods = json!({"spec": {"targetRef": {"kind": "Deployment", "name": "orders"}}});
        assert_eq!(named(Tool::Flagger, &of_pods), Vec::<String>::new());
    }

    #[test]
    fn a_rollout_names_its_services_and_templates_wherever_they_stand() {
        let analysis =
            json!({"templates": [{"templateName": "errors"}, {"templateName": "slow", "clusterScope": true}]});
        let rollout = json!({"spec": {"strategy": {"canary": {
            "stableService": "cart-stable", "canaryService": "cart-canary", "steps": [{"setWeight": 5}, {"analysis": analysis}],
        }}}});
        let names =
            ["Service cart-stable", "Service cart-canary", "AnalysisTemplate errors", "ClusterAnalysisTemplate slow"];
        assert_eq!(named(Tool::ArgoRollouts, &rollout), names);
        let of_kruise = |canary: &Value| named(Tool::Kruise, &json!({"spec": {"strategy": {"canary": canary}}}));
        assert_eq!(of_kruise(&json!({"trafficRoutings": [{"service": "cart"}]})), ["Service cart"]);
        assert_eq!(of_kruise(&json!({"trafficRoutingRef": "cart"})), ["TrafficRouting cart"]);
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        let canary = |name: &str, namespace: &str| {
            let template = json!({"templateRef": {"name": name, "namespace": namespace}});
            json!({"spec": {"analysis": {"metrics": [template]}}})
        };
        assert_eq!(named(Tool::Flagger, &canary("errors", "shop")), ["MetricTemplate shop/errors"]);
        for (name, namespace) in
            [("..", "shop"), ("a/../../secrets/b", "shop"), ("errors?x", "shop"), ("errors", "a/b"), ("", "shop")]
        {
            assert_eq!(named(Tool::Flagger, &canary(name, namespace)), Vec::<String>::new());
        }
    }
}
