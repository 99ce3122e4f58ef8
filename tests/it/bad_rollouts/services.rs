//! Services, backends and routes.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {create: {hosts: [a.example.com], gateways: [infra/public], retries: {attempts: 3}}}",
        &[
            "10: spec.services[0].routes[0].gatewayAPI.create.retries: unknown field; known are: cors, gateways, headers, hosts, timeouts",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "skipper: {create: {hosts: [a.example.com], headers: {response: {remove: [server]}}}}",
        &["10: spec.services[0].routes[0].skipper.create.headers: unknown field; known are: hosts"],
    ),
    (
        "gatewayAPI: {name: public}",
        "contour: {create: {host: a.example.com, cors: {allowOrigins: ['https://*.example.com'], allowMethods: [GET]}}}",
        &[
            "10: spec.services[0].routes[0].contour.create.cors.allowOrigins[0]: \"https://*.example.com\" is not allowed; write a text of at most 253 characters that matches ^(\\*|https?://[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?)$",
        ],
    ),
    (
        "port: 80",
        "port: 70000",
        &["7: spec.services[0].port: 70000 is not allowed; write a whole number from 1 to 65535"],
    ),
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {name: public}\n          contour: {name: public}",
        &[
            "10: spec.services[0].routes[0]: gatewayAPI and contour are both given; give exactly one of gatewayAPI, contour, istio, skipper, nginx, aliyunALB, kubernetes",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {create: {hosts: [a.example.com], gateways: [infra/public], timeouts: {request: 1s, backendRequest: 2s}, \
         headers: {request: {set: [{name: HOST, value: a}]}, response: {}}, cors: {allowOrigins: ['*', 'https://a.example.com'], allowMethods: [GET], maxAge: 10ms}}}",
        &[
            "10: spec.services[0].routes[0].gatewayAPI.create.timeouts.backendRequest: 2s is more than request (1s), so that it never ends an attempt; write at most 1s",
            "10: spec.services[0].routes[0].gatewayAPI.create.headers.request.set: names the header Host; leave it out; hostHeader of a MemberCluster says which Host its members get",
            "10: spec.services[0].routes[0].gatewayAPI.create.headers.response: changes nothing; write set, add or remove",
            "10: spec.services[0].routes[0].gatewayAPI.create.cors.allowOrigins: names * and others, but * is any; write * alone, or leave it out",
            "10: spec.services[0].routes[0].gatewayAPI.create.cors.maxAge: 10ms is not allowed; write 1s or more",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "contour: {create: {host: a.example.com, timeouts: {backendRequest: 2s}, headers: {response: {add: [{name: x-a, value: a}]}}}}",
        &[
            "10: spec.services[0].routes[0].contour.create.timeouts.backendRequest: an HTTPProxy bounds an attempt only where it retries; write request, or retries too",
            "10: spec.services[0].routes[0].contour.create.headers.response.add: an HTTPProxy adds no value beside those that a header has; write set, or use gatewayAPI",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "traefik: {name: public}",
        &[
            "10: spec.services[0].routes[0].traefik: unknown field; known are: aliyunALB, contour, gatewayAPI, istio, kubernetes, nginx, skipper",
            "10: spec.services[0].routes[0]: nothing is chosen; give exactly one of gatewayAPI, contour, istio, skipper, nginx, aliyunALB, kubernetes",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "istio: {routes: [\"#0\"], create: {hosts: [a.example.com], headers: {request: {set: [{name: x-a, value: \"a\\tb\"}]}}}}",
        &[
            "10: spec.services[0].routes[0].istio.create.headers.request.set[0].value: \"a\\tb\" is not allowed; write a text of at most 1024 characters that matches ^[^\\x00-\\x1F\\x7F]*$",
            "10: spec.services[0].routes[0].istio.routes: selects rules of an adopted route, but this one is created; leave it out, or adopt a route by name",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "istio: {create: {delegate: true, gateways: [mesh], timeouts: {backendRequest: 2s}}}",
        &[
            "10: spec.services[0].routes[0].istio.create.gateways: is given for a delegate, which has what the VirtualService has that delegates to it; leave it out",
            "10: spec.services[0].routes[0].istio.create.timeouts.backendRequest: a VirtualService bounds an attempt only where it retries; write request, or retries too",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "skipper: {form: Ingress, name: shop}",
        &[
            "10: spec.services[0].routes[0]: skipper Ingress weights are ignored for ExternalName members (all traffic would go to one of them); \
             use the RouteGroup form or backend kind EndpointSlice",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "skipper: {form: CanaryIngress, create: {hosts: [shop.example.com]}}",
        &[
            "10: spec.services[0].routes[0]: skipper Ingress weights are ignored for ExternalName members (all traffic would go to one of them); \
             use the RouteGroup form or backend kind EndpointSlice",
            "10: spec.services[0].routes[0].skipper.create: form CanaryIngress goes beside an Ingress that is there, and this one is created; \
             name the Ingress, or use another form",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "kubernetes: {name: storefront}",
        &[
            "10: spec.services[0].routes[0]: 2 members would carry traffic at once, but kubernetes has no weights; give one \
             member all the weight, and use strategy.steps: [{progress: 100%}]; or use a route with weights",
        ],
    ),
    (
        "      backend: {externalName: {}}\n      routes:\n        - gatewayAPI: {name: public}",
        "      backend: {clusterIP: {}}\n      routes:\n        - gatewayAPI: {name: public}\n        - kubernetes: {name: shop}",
        &[
            "11: spec.services[0].routes[1]: only a Service of type ExternalName can be switched from one member to another; use backend: {externalName: {}}, or a route with weights",
            "11: spec.services[0].routes[1]: 2 members would carry traffic at once, but kubernetes has no weights; give one member all the weight, and use strategy.steps: [{progress: 100%}]; or use a route with weights",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "aliyunALB: {name: public}",
        &[
            "10: spec.services[0].routes[0]: an ALB sends to the endpoints of a Service, and an ExternalName Service has \
             none; use backend kind EndpointSlice or clusterIP",
        ],
    ),
    (
        "        - gatewayAPI: {name: public}\n",
        "        - gatewayAPI: {name: public}\n        - gatewayAPI: {name: public, rules: [main]}\n",
        &[
            "11: spec.services[0].routes[1]: HTTPRoute \"public\" already holds the weights of spec.services[0].routes[0]; name other rules, or another route",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {name: ../../secrets}",
        &[
            "10: spec.services[0].routes[0].gatewayAPI.name: \"../../secrets\" is not allowed; write a name of lower-case \
             letters, digits, \"-\" and \".\" of at most 253 characters",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {create: {hosts: [\"shop.example.com/\"], gateways: [public]}}",
        &[
            "10: spec.services[0].routes[0].gatewayAPI.create.gateways[0]: \"public\" is not allowed; write a namespace and a \
             name, such as infra/public",
            "10: spec.services[0].routes[0].gatewayAPI.create.hosts[0]: \"shop.example.com/\" is not allowed; write a host \
             name in lower case, such as shop.example.com or *.example.com",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {name: public, rules: [\"#first\"]}",
        &[
            "10: spec.services[0].routes[0].gatewayAPI.rules[0]: \"#first\" is not allowed; write the name of a rule, or its \
             place, such as #0",
        ],
    ),
    (
        "{externalName: {}}",
        "{clusterIP: {existing: {eu-1: old.shop, eu-3: new}}}",
        &[
            "8: spec.services[0].backend.clusterIP.existing.eu-1: \"old.shop\" is not allowed; write a name of lower-case \
             letters, digits and \"-\" of at most 63 characters",
        ],
    ),
    (
        "{externalName: {}}",
        "{clusterIP: {existing: {eu-1: old, eu-3: old}}}",
        &[
            "8: spec.services[0].backend.clusterIP.existing.eu-3: \"old\" is already the Service of \"eu-1\"; weights would have no effect; give each member a Service of its own",
        ],
    ),
    (
        "{externalName: {}}",
        "{externalName: {existing: {eu-33: old}}}",
        &[
            "8: spec.services[0].backend.externalName.existing.eu-33: \"eu-33\" is not in spec.members; did you mean eu-3?",
        ],
    ),
    (
        "  members:\n    - {name: eu-1, weight: 0, initialWeight: 100}\n    - {name: eu-3, weight: 100}\n",
        "    - {name: storefront-x, port: 80, routes: [{gatewayAPI: {name: other}}]}\n  members:\n    - {name: x-eu-3, weight: 0, initialWeight: 100}\n    - {name: eu-3, weight: 100}\n",
        &[
            "11: spec.services[1].name: the backend \"storefront-x-eu-3\" of service \"storefront-x\" and member \"eu-3\" is also that of service \"storefront\" and member \"x-eu-3\"; rename the service or the member, so that <service>-<member> differs",
        ],
    ),
    (
        "  members:\n    - {name: eu-1,",
        "    - {name: storefront-eu-1, port: 80, routes: [{gatewayAPI: {name: other}}]}\n  members:\n    - {name: eu-1,",
        &[
            "6: spec.services[0].name: the backend \"storefront-eu-1\" of service \"storefront\" and member \"eu-1\" is also a service of this rollout; rename the service or the member, so that <service>-<member> differs",
        ],
    ),
];
