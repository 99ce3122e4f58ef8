//! Every form of route, adopted and created. Texts that begin with `foreign` are not the hub's and must survive.

#![allow(clippy::needless_pass_by_value)] // `json!` reads best as an argument

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::capability::Weighting;
use super::world::object;
use super::*;
use crate::api::member::HostHeader;
use crate::api::{Backend, CANARY, PRIMARY, ServiceCopy};
use crate::object::Reach;

/// One form of route and the objects that are there before the hub's first write.
#[derive(Clone)]
pub(super) struct Form {
    pub name: &'static str,
    pub service: ServiceSpec,
    pub route: Route,
    pub endpoints: BTreeMap<String, Reach>,
    /// Service mode: what primary and canary are.
    pub copies: BTreeMap<String, ServiceCopy>,
    pub objects: Vec<DynamicObject>,
    /// Objects of others that count for its own.
    pub neighbours: Vec<Arc<DynamicObject>>,
    /// What the objects show, in hundredths.
    pub initially: [u32; 3],
}

impl Form {
    pub(super) fn all() -> Vec<Self> {
        let mut forms = Self::of_skipper();
        forms.extend([
            Self::new(
                "HTTPRoute adopted",
                "externalName",
                json!({"gatewayAPI": {"name": "public", "rules": ["main"]}}),
                &[HTTP_ROUTE],
                [60, 40, 0],
            ),
            Self::new(
                "HTTPRoute created",
                "endpointSlice",
                json!({"gatewayAPI": {"create": {"hosts": ["shop.example.com"], "gateways": ["infra/public"]}}}),
                &[],
                [0; 3],
            ),
            Self::new(
                "HTTPRoute created with entries",
                "serviceEntry",
                json!({"gatewayAPI": {"create": {"hosts": ["shop.example.com"], "gateways": ["infra/public"]}}}),
                &[],
                [0; 3],
            ),
            Self::new(
                "HTTPProxy adopted",
                "externalName",
                json!({"contour": {"name": "public", "rules": ["#0"]}}),
                &[HTTP_PROXY],
                [75, 25, 0],
            ),
            Self::new(
                "HTTPProxy created",
                "externalName",
                json!({"contour": {"create": {"host": "shop.example.com"}}}),
                &[],
                [0; 3],
            )
            .with_host(),
            Self::new(
                "VirtualService adopted",
                "externalName",
                json!({"istio": {"name": "public", "routes": ["main"]}}),
                &[VIRTUAL_SERVICE],
                [60, 40, 0],
            ),
            Self::new(
                "VirtualService adopted by number",
                "clusterIP",
                json!({"istio": {"name": "public", "routes": ["#1"]}}),
                &[VIRTUAL_SERVICE_PLAIN],
                [100, 0, 0],
            )
            .on_port(80),
            Self::new(
                "VirtualService adopted for connections",
                "endpointSlice",
                json!({"istio": {"name": "public", "routes": ["tcp#1", "tls#0"]}}),
                &[VIRTUAL_SERVICE_OF_CONNECTIONS],
                [70, 30, 0],
            ),
            Self::new(
                "VirtualService created",
                "externalName",
                json!({"istio": {"create": {"hosts": ["shop.example.com"], "gateways": ["infra/public"]}}}),
                &[],
                [0; 3],
            )
            .with_host(),
            Self::new(
                "VirtualService created with entries",
                "serviceEntry",
                json!({"istio": {"create": {"hosts": ["shop.example.com"]}}}),
                &[],
                [0; 3],
            )
            .with_host(),
            Self::new(
                "VirtualService created with subsets",
                "subset",
                json!({"istio": {"create": {"delegate": true}}}),
                &[],
                [0; 3],
            ),
            Self::new("nginx", "externalName", json!({"nginx": {"name": "public"}}), &[STABLE_INGRESS], [100, 0, 0]),
            Self::new("ALB", "clusterIP", json!({"aliyunALB": {"name": "public"}}), &[STABLE_INGRESS], [100, 0, 0])
                .beside(&[ALB_NEIGHBOUR]),
            Self::new(
                "Service adopted",
                "externalName",
                json!({"kubernetes": {"name": "public"}}),
                &[SERVICE],
                [100, 0, 0],
            )
            .on_port(80),
            Self::new("Service created", "externalName", json!({"kubernetes": {"create": {}}}), &[], [0; 3])
                .on_port(80),
        ]);
        forms
    }

    fn of_skipper() -> Vec<Self> {
        let create = |form| json!({"form": form, "create": {"hosts": ["shop.example.com", "www.example.com"]}});
        let adopt = |form| json!({"form": form, "name": "public"});
        vec![
            Self::new(
                "RouteGroup adopted with segments",
                "externalName",
                json!({"skipper": adopt("RouteGroup")}),
                &[ROUTE_GROUP_SEGMENTS],
                [60, 40, 0],
            )
            .with_host(),
            Self::new(
                "RouteGroup adopted with weights",
                "externalName",
                json!({"skipper": adopt("RouteGroup")}),
                &[ROUTE_GROUP_WEIGHTS],
                [70, 30, 0],
            ),
            Self::new(
                "RouteGroup adopted with one backend",
                "clusterIP",
                json!({"skipper": adopt("RouteGroup")}),
                &[ROUTE_GROUP_PLAIN],
                [100, 0, 0],
            ),
            Self::new("RouteGroup created", "externalName", json!({"skipper": create("RouteGroup")}), &[], [0; 3])
                .with_host(),
            Self::new(
                "Ingress adopted with weights",
                "clusterIP",
                json!({"skipper": adopt("Ingress")}),
                &[INGRESS_WEIGHTS],
                [80, 20, 0],
            ),
            Self::new(
                "Ingress adopted with one backend",
                "clusterIP",
                json!({"skipper": adopt("Ingress")}),
                &[INGRESS_PLAIN],
                [100, 0, 0],
            ),
            Self::new("Ingress created", "endpointSlice", json!({"skipper": create("Ingress")}), &[], [0; 3]),
            Self::new(
                "Ingress per member adopted",
                "externalName",
                json!({"skipper": adopt("IngressPerMember")}),
                &[INGRESS_EU_1, INGRESS_EU_2],
                [60, 40, 0],
            ),
            Self::new(
                "Ingress per member created",
                "externalName",
                json!({"skipper": create("IngressPerMember")}),
                &[],
                [0; 3],
            ),
            Self::new(
                "Canary Ingress beside its apex",
                "clusterIP",
                json!({"skipper": adopt("CanaryIngress")}),
                &[APEX_INGRESS],
                [100, 0, 0],
            ),
        ]
    }

    /// The forms whose objects name the backends of the service.
    pub(crate) fn naming_backends() -> impl Iterator<Item = Self> {
        let names = |form: &Self| capability(&form.route).weighting != Weighting::Switch && !form.objects.is_empty();
        Self::all().into_iter().filter(names)
    }

    /// Those of the splits that this kind can hold.
    pub(super) fn splits(&self) -> Vec<[u32; 3]> {
        SPLITS.into_iter().filter(|split| self.can(*split)).collect()
    }

    /// The split, or where the kind cannot hold it one that it can and in which eu-3 has most.
    pub(super) fn able(&self, split: [u32; 3]) -> [u32; 3] {
        [split, [20, 0, 80], [0, 0, 100]].into_iter().find(|split| self.can(*split)).unwrap()
    }

    pub(crate) fn can(&self, split: [u32; 3]) -> bool {
        self.refusal(distribution(split, 1)).is_none()
    }

    pub(crate) fn refusal(&self, split: impl Into<Split>) -> Option<(String, String)> {
        capability(&self.route).refusal(&split.into())
    }

    pub(super) fn named(name: &str) -> Self {
        Self::all().into_iter().find(|form| form.name == name).unwrap()
    }

    fn new(name: &'static str, backend: &str, route: Value, objects: &[&str], initially: [u32; 3]) -> Self {
        let service = json!({"name": "shop", "port": 80, "backend": {backend: {}}, "routes": [route]});
        let service: ServiceSpec = serde_json::from_value(service).unwrap();
        let reach = |member: &str| Reach {
            host: format!("gw.{member}.example.com"),
            port: 8080,
            server_name: None,
            host_header: HostHeader::Preserve,
        };
        let endpoints = ["eu-1", "eu-2", "eu-3"].map(|member| (member.to_owned(), reach(member))).into();
        let objects = objects.iter().map(|yaml| object(yaml)).collect();
        let (copies, neighbours) = (BTreeMap::new(), Vec::new());
        Self { name, route: service.routes[0].clone(), service, endpoints, copies, objects, neighbours, initially }
    }

    /// The same in service mode: the user's own Service stands in it where eu-1 did, and the canary where eu-2 did.
    pub(super) fn in_service_mode(mut self) -> Self {
        let port = self.service.port;
        let reach = Reach { port, ..self.endpoints["eu-1"].clone() };
        self.endpoints = [PRIMARY, CANARY].map(|slot| (slot.to_owned(), reach.clone())).into();
        self.copies = [PRIMARY, CANARY].map(|slot| (slot.to_owned(), ServiceCopy::default())).into();
        for object in &mut self.objects {
            let text = serde_json::to_string(object).unwrap();
            let text = text.replace("shop-eu-1\"", "shop\"").replace("shop-eu-1\\\"", "shop\\\"");
            let text = text.replace("shop-eu-2", "shop-canary");
            let text = text.replace("public-eu-1", "public-primary").replace("public-eu-2", "public-canary");
            let text = text.replace("8080", &port.to_string());
            *object = serde_json::from_str(&text).unwrap();
        }
        self
    }

    fn beside(mut self, objects: &[&str]) -> Self {
        self.neighbours = objects.iter().map(|yaml| Arc::new(object(yaml))).collect();
        self
    }

    fn on_port(mut self, port: u16) -> Self {
        self.endpoints.values_mut().for_each(|reach| reach.port = port);
        self
    }

    fn with_host(mut self) -> Self {
        self.endpoints.values_mut().for_each(|reach| reach.host_header = HostHeader::Endpoint);
        self
    }

    pub(super) fn name_existing(&mut self, member: &str, service: &str) {
        let existing = match &mut self.service.backend {
            Backend::ExternalName(named) | Backend::ClusterIp(named) | Backend::EndpointSlice(named) => {
                &mut named.existing
            }
            Backend::ServiceEntry(entry) => &mut entry.existing,
            Backend::Subset(subset) => &mut subset.existing,
        };
        existing.insert(member.to_owned(), service.to_owned());
    }
}

const HTTP_ROUTE: &str = r#"
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1", generation: 1, annotations: {note: foreign-note}}
spec:
  parentRefs: [{name: public, namespace: infra}]
  hostnames: [foreign.example.com]
  rules:
  - name: admin
    backendRefs: [{name: foreign-admin, port: 80}]
  - name: main
    matches: [{path: {type: PathPrefix, value: foreign-path}}]
    filters: [{type: URLRewrite, urlRewrite: {hostname: foreign.rewritten.com}}]
    backendRefs:
    - {name: shop-eu-1, port: 8080, weight: 3, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: foreign-kept}]}}]}
    - {name: shop-eu-2, port: 8080, weight: 2}
    - {name: foreign-idle, port: 80, weight: 0}
"#;

const HTTP_PROXY: &str = r#"
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1", generation: 1, labels: {team: foreign-team}}
spec:
  virtualhost: {fqdn: foreign.example.com}
  routes:
  - conditions: [{prefix: foreign-prefix}]
    timeoutPolicy: {response: foreign-timeout}
    services:
    - {name: shop-eu-1, port: 8080, weight: 75}
    - {name: shop-eu-2, port: 8080, weight: 25}
    - {name: foreign-mirror, port: 80, mirror: true}
  - conditions: [{prefix: foreign-admin}]
    services: [{name: foreign-admin, port: 80}]
"#;

const VIRTUAL_SERVICE: &str = r#"
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1", generation: 1, annotations: {note: foreign-note}}
spec:
  hosts: [foreign.example.com, foreign.example.org]
  gateways: [foreign-system/public, foreign-system/internal]
  http:
  - name: admin
    match: [{uri: {prefix: /foreign-admin}}]
    route: [{destination: {host: foreign-admin}, weight: 0}]
  - name: main
    match: [{uri: {prefix: foreign-path}, headers: {x-foreign: {exact: foreign-value}}}, {port: 8443}]
    timeout: foreign-timeout
    route:
    - {destination: {host: shop-eu-1, port: {number: 8080}}, weight: 3, headers: {request: {set: {a: foreign-kept}}}}
    - {destination: {host: shop-eu-2.shop.svc.cluster.local, port: {number: 8080}}, weight: 2}
    - {destination: {host: foreign-idle.other.svc.cluster.local, port: {number: 80}}, weight: 0}
    mirrors: [{destination: {host: foreign-mirror}, percentage: {value: 1.5}}]
  - route: [{destination: {host: foreign-rest}}]
"#;

const VIRTUAL_SERVICE_PLAIN: &str = r#"
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1"}
spec:
  hosts: [foreign.example.com]
  http:
  - match: [{uri: {prefix: /foreign-admin}}]
    route: [{destination: {host: foreign-admin}}]
  - route: [{destination: {host: shop-eu-1}}]
"#;

const VIRTUAL_SERVICE_OF_CONNECTIONS: &str = r#"
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1"}
spec:
  hosts: [foreign.example.com]
  gateways: [foreign-system/public]
  tcp:
  - match: [{port: 3306}]
    route: [{destination: {host: foreign-database}}]
  - match: [{port: 8000}]
    route: [{destination: {host: shop-eu-1, port: {number: 80}}, weight: 70}, {destination: {host: shop-eu-2, port: {number: 80}}, weight: 30}]
  tls:
  - match: [{port: 443, sniHosts: [foreign.example.com]}]
    route: [{destination: {host: shop-eu-1, port: {number: 80}}, weight: 7}, {destination: {host: shop-eu-2, port: {number: 80}}, weight: 3}]
"#;

const ROUTE_GROUP_SEGMENTS: &str = r#"
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1"}
spec:
  hosts: [foreign.example.com]
  backends:
  - {name: foreign-admin, type: service, serviceName: admin, servicePort: 80}
  - {name: shop-eu-1, type: network, address: "http://gw.eu-1.example.com:8080"}
  - {name: shop-eu-2, type: network, address: "http://gw.eu-2.example.com:8080"}
  routes:
  - pathSubtree: /foreign-shop
    predicates: ['Method("GET")', "TrafficSegment(0.0, 0.6)"]
    filters: ['foreignFilter()', 'setRequestHeader("Host", "gw.eu-1.example.com")']
    backends: [{backendName: shop-eu-1}]
  - pathSubtree: /foreign-shop
    predicates: ['Method("GET")', "TrafficSegment(0.6, 1.0)"]
    filters: ['foreignFilter()', 'setRequestHeader("Host", "gw.eu-2.example.com")']
    backends: [{backendName: shop-eu-2}]
  - pathSubtree: /foreign-admin
    backends: [{backendName: foreign-admin}]
"#;

const ROUTE_GROUP_WEIGHTS: &str = r#"
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1"}
spec:
  hosts: [foreign.example.com]
  backends:
  - {name: shop-eu-1, type: network, address: "http://gw.eu-1.example.com:8080"}
  - {name: shop-eu-2, type: network, address: "http://gw.eu-2.example.com:8080"}
  defaultBackends: [{backendName: shop-eu-1, weight: 70}, {backendName: shop-eu-2, weight: 30}]
  routes:
  - {pathSubtree: /, filters: [foreignFilter()]}
  - {path: /foreign-path, methods: [GET]}
"#;

const ROUTE_GROUP_PLAIN: &str = r#"
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1"}
spec:
  hosts: [foreign.example.com]
  backends: [{name: shop-eu-1, type: service, serviceName: shop-eu-1, servicePort: 80}]
  routes: [{pathSubtree: /, backends: [{backendName: shop-eu-1}]}]
"#;

const INGRESS_WEIGHTS: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: public
  namespace: shop
  uid: r-1
  resourceVersion: "1"
  annotations: {zalando.org/backend-weights: '{"foreign-other":7,"shop-eu-1":80,"shop-eu-2":20}', zalando.org/skipper-filter: foreignFilter()}
spec:
  rules:
  - host: foreign.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: shop-eu-1, port: {number: 80}}}}
      - {path: /, pathType: Prefix, backend: {service: {name: shop-eu-2, port: {name: foreign-port}}}}
      - {path: /foreign-admin, pathType: Prefix, backend: {service: {name: foreign-other, port: {number: 80}}}}
"#;

const INGRESS_PLAIN: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1"}
spec:
  tls: [{hosts: [foreign.example.com], secretName: foreign-secret}]
  rules:
  - host: foreign.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop-eu-1, port: {number: 80}}}}]}
  - host: foreign.other.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop-eu-1, port: {number: 80}}}}]}
"#;

const APEX_INGRESS: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: public
  namespace: shop
  uid: r-1
  resourceVersion: "1"
  annotations: {zalando.org/skipper-predicate: 'Method("foreign")', zalando.org/skipper-filter: foreignFilter()}
spec:
  ingressClassName: foreign-class
  rules:
  - host: foreign.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: shop-eu-1, port: {number: 80}}}}
      - {path: /foreign-admin, pathType: Prefix, backend: {service: {name: foreign-admin, port: {name: foreign-port}}}}
  - host: foreign.www.example.com
    http: {paths: [{path: /, pathType: Exact, backend: {service: {name: shop-eu-1, port: {number: 80}}}}]}
"#;

const INGRESS_EU_1: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: public-eu-1, namespace: shop, uid: r-1, resourceVersion: "1", annotations: {zalando.org/skipper-predicate: 'Method("foreign") && TrafficSegment(0.4, 1.0)'}}
spec:
  rules:
  - host: foreign.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop-eu-1, port: {number: 8080}}}}]}
"#;

const INGRESS_EU_2: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: public-eu-2, namespace: shop, uid: r-2, resourceVersion: "1", annotations: {zalando.org/skipper-predicate: 'Method("foreign") && TrafficSegment(0.0, 0.4)'}}
spec:
  rules:
  - host: foreign.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop-eu-2, port: {number: 8080}}}}]}
"#;

const STABLE_INGRESS: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: public
  namespace: shop
  uid: r-1
  resourceVersion: "1"
  annotations: {nginx.ingress.kubernetes.io/affinity: foreign-cookie, alb.ingress.kubernetes.io/order: "50", foreign-note: foreign-text}
spec:
  ingressClassName: foreign-class
  tls: [{hosts: [foreign.example.com], secretName: foreign-secret}]
  rules:
  - host: foreign.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: shop-eu-1, port: {number: 8080}}}}
      - {path: /foreign-admin, pathType: Prefix, backend: {service: {name: foreign-admin, port: {name: foreign-port}}}}
  - host: foreign.www.example.com
    http: {paths: [{path: /, pathType: Exact, backend: {service: {name: shop-eu-1, port: {number: 8080}}}}]}
"#;

/// It has the number before that of the stable Ingress.
const ALB_NEIGHBOUR: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: other, namespace: blog, uid: r-9, annotations: {alb.ingress.kubernetes.io/order: "49"}}
spec:
  ingressClassName: foreign-class
  rules: [{host: blog.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}]}}]
"#;

const SERVICE: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: public, namespace: shop, uid: r-1, resourceVersion: "1", labels: {team: foreign-team}}
spec:
  type: ExternalName
  externalName: gw.eu-1.example.com
  ports: [{name: foreign-http, port: 80}]
"#;
