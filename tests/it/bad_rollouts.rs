//! One mistake at a time in a rollout, and the words for it, written by hand.

/// A rollout that is right; each case changes one thing in it.
pub(crate) const RIGHT: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: FleetRollout
metadata: {name: shop, namespace: shop}
spec:
  services:
    - name: storefront
      port: 80
      backend: {externalName: {}}
      routes:
        - gatewayAPI: {name: public}
  members:
    - {name: eu-1, weight: 0, initialWeight: 100}
    - {name: eu-3, weight: 100}
  strategy:
    steps:
      - {progress: 10%}
      - {progress: 50%}
      - {progress: 100%}
  analysis:
    metrics:
      - name: errors
        ratio:
          numerator: 'sum(increase(http_requests_total{service=\"{{ service }}\",code=~\"5..\"}[{{ window }}]))'
          denominator: 'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'
        max: 1
";

/// Without it there are no members: service mode.
const MEMBERS: &str = concat!(
    "  members:\n",
    "    - {name: eu-1, weight: 0, initialWeight: 100}\n",
    "    - {name: eu-3, weight: 100}\n",
    "  strategy:\n",
);

/// From the backend on.
const FROM_BACKEND: &str = concat!(
    "      backend: {externalName: {}}\n",
    "      routes:\n",
    "        - gatewayAPI: {name: public}\n",
    "  members:\n",
    "    - {name: eu-1, weight: 0, initialWeight: 100}\n",
    "    - {name: eu-3, weight: 100}\n",
    "  strategy:\n",
);

/// Members and steps.
const WHOLE_STRATEGY: &str = concat!(
    "  members:\n",
    "    - {name: eu-1, weight: 0, initialWeight: 100}\n",
    "    - {name: eu-3, weight: 100}\n",
    "  strategy:\n",
    "    steps:\n",
    "      - {progress: 10%}\n",
    "      - {progress: 50%}\n",
    "      - {progress: 100%}\n",
);

/// What is changed, to what, and every problem that is then named, with its line.
pub(crate) const CASES: &[(&str, &str, &[&str])] = &[
    // Windows.
    (
        "  strategy:\n",
        "  strategy:\n    windows: [{days: Mon-Fri, from: \"09:00\", to: \"16:00\", timeZone: Europe/Berln}]\n",
        &["15: spec.strategy.windows[0].timeZone: \"Europe/Berln\" is not a time zone; did you mean Europe/Berlin?"],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    windows: [{from: \"09:00\", to: \"09:00\"}]\n",
        &[
            "15: spec.strategy.windows[0].to: 09:00 is also the opening time; choose another closing time; without windows, steps may begin at any time",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    windows: [{days: Monday, from: \"9:00\", to: \"24:00\"}]\n",
        &[
            "15: spec.strategy.windows[0].days: \"Monday\" is not allowed; write days of Mon to Sun, such as Mon-Fri or Sat,Sun",
            "15: spec.strategy.windows[0].from: \"9:00\" is not allowed; write hours and minutes, from 00:00 to 23:59",
            "15: spec.strategy.windows[0].to: \"24:00\" is not allowed; write hours and minutes, from 00:00 to 23:59",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    bake: 1h\n    windows: [{from: \"23:30\", to: \"00:15\", timeZone: Europe/Berlin}]\n",
        &[
            "15: spec.strategy.bake: a step takes 1h30s (settle and bake), and no window is open that long; shorten the bake, or make a window of spec.strategy.windows longer than 45m",
        ],
    ),
    // Service mode.
    (
        MEMBERS,
        "  strategy:\n    stages: [{name: first, members: [eu-3]}]\n    keepPrevious: 1h\n",
        &[
            "12: spec.strategy.stages: stages order members, but spec.members is empty; leave it out, or declare spec.members",
            "13: spec.strategy.keepPrevious: the primary is replaced at the end, so no rollback is possible after it; leave it out, or declare spec.members",
        ],
    ),
    (
        FROM_BACKEND,
        "      backend: {endpointSlice: {existing: {eu-1: legacy}}}\n      routes: [{gatewayAPI: {name: public}}]\n  strategy:\n",
        &[
            "8: spec.services[0].backend.existing: names the Services of members, but spec.members is empty; leave it out, or declare spec.members",
            "8: spec.services[0].backend: is endpointSlice, in service mode; the copies have the type of the Service; write externalName or clusterIP",
        ],
    ),
    (
        WHOLE_STRATEGY,
        "  strategy:\n    ramp: {stepWeight: 10, stepWeights: [1, 2]}\n",
        &["12: spec.strategy.ramp: has stepWeight and stepWeights; keep one of them"],
    ),
    (
        WHOLE_STRATEGY,
        "  strategy:\n    ramp: {maxWeight: 50}\n",
        &[
            "12: spec.strategy.ramp: has none of stepWeight, stepWeights and iterations; give one of them",
            "12: spec.strategy.ramp: maxWeight belongs to stepWeight; leave it out",
        ],
    ),
    (
        WHOLE_STRATEGY,
        "  strategy:\n    ramp: {stepWeights: [10, 10, 5]}\n",
        &["12: spec.strategy.ramp: stepWeights do not rise; each must be more than the one before it"],
    ),
    (
        WHOLE_STRATEGY,
        "  weightTotal: 10\n  strategy:\n    ramp: {stepWeights: [4, 50]}\n",
        &[
            "13: spec.strategy.ramp: a step leaves canary without a unit of weight; scale the weights to weightTotal 25, or take a larger step",
        ],
    ),
    (
        "  strategy:\n",
        "  skipAnalysis: true\n  strategy:\n    ramp: {stepWeight: 10}\n",
        &[
            "14: spec.skipAnalysis: belongs to service mode, a rollout without members; leave it out, or leave spec.members out",
            "16: spec.strategy.ramp: belongs to service mode, a rollout without members; leave it out, or leave spec.members out",
        ],
    ),
    // Steps.
    (
        "      - {progress: 10%}\n      - {progress: 50%}\n      - {progress: 100%}\n",
        "      []\n",
        &["15: spec.strategy.steps: 0 entries given; write at least 1 entry, or leave it out for the default"],
    ),
    (
        "{progress: 50%}",
        "{progress: 50%, matches: [{headers: [{name: a, exact: b}]}]}",
        &["17: spec.strategy.steps[1]: progress and matches are given; give exactly one of them"],
    ),
    (
        "{progress: 50%}",
        "{iterations: 3}",
        &["17: spec.strategy.steps[1]: none of progress, matches and mirror is given; give exactly one of them"],
    ),
    (
        "{progress: 50%}",
        "{matches: [{headers: [{name: a, exact: b, regex: c}]}]}",
        &[
            "17: spec.strategy.steps[1].matches[0].headers[0]: has none or several of exact, prefix and regex; give exactly one of exact, prefix and regex",
        ],
    ),
    (
        "{progress: 50%}",
        "{matches: [{cookies: [{name: a, exact: b}]}]}",
        &[
            "10: spec.services[0].routes[0]: a step matches requests by cookie a: b; gatewayAPI cannot match these requests; docs/routes.md says what each route supports",
        ],
    ),
    (
        "{progress: 50%}",
        "{mirror: {}, matches: [{headers: [{name: a, exact: b}]}]}",
        &["17: spec.strategy.steps[1]: matches and mirror are given; give exactly one of them"],
    ),
    (
        "{progress: 50%}",
        "{mirror: {percent: 20}}",
        &[
            "10: spec.services[0].routes[0]: a step mirrors 20% of all requests; gatewayAPI mirrors all requests or none; leave percent out",
        ],
    ),
    (
        "{progress: 50%}",
        "{mirror: {percent: 0}}",
        &[
            "10: spec.services[0].routes[0]: a step mirrors 0% of all requests; gatewayAPI mirrors all requests or none; leave percent out",
            "17: spec.strategy.steps[1].mirror.percent: 0 is not allowed; write a whole number from 1 to 100",
        ],
    ),
    (
        "      - {progress: 100%}\n",
        "      - {mirror: {}}\n",
        &["18: spec.strategy.steps[2].progress: the last step moves no weight; the last step must be 100%"],
    ),
    (
        "      - {progress: 100%}\n",
        "      - {matches: [{headers: [{name: a, exact: b}]}]}\n",
        &["18: spec.strategy.steps[2].progress: the last step moves no weight; the last step must be 100%"],
    ),
    (
        "progress: 50%",
        "progress: 5%",
        &["17: spec.strategy.steps[1].progress: 5 is not more than the step before it (10); steps must rise"],
    ),
    (
        "progress: 50%",
        "progress: 10%",
        &["17: spec.strategy.steps[1].progress: 10 is not more than the step before it (10); steps must rise"],
    ),
    (
        "      - {progress: 100%}\n",
        "",
        &["17: spec.strategy.steps[1].progress: the last step has only progress 50%; the last step must be 100%"],
    ),
    (
        "progress: 10%",
        "progress: 0%",
        &["16: spec.strategy.steps[0].progress: \"0%\" is not allowed; write a percentage, such as 25% or 12.5%"],
    ),
    (
        "progress: 10%",
        "progress: 10",
        &["16: spec.strategy.steps[0].progress: 10 is not allowed; write a percentage, such as 25% or 12.5%"],
    ),
    (
        "{progress: 10%}",
        "{progress: 10%, wait: forever}",
        &["16: spec.strategy.steps[0].wait: \"forever\" is not allowed; write Promotion, or a time such as 10m"],
    ),
    (
        "{progress: 10%}",
        "{progress: 10%, wait: }",
        &[
            "16: spec.strategy.steps[0].wait: is null, which an API server drops silently; give it a value, or leave it out",
        ],
    ),
    (
        "progress: 10%",
        "progress: 0.5%",
        &[
            "16: spec.strategy.steps[0].progress: progress 0.5% leaves \"eu-3\" at 0 of 100; scale the weights to weightTotal 200, or take a larger step",
        ],
    ),
    // Weights and members.
    ("weight: 100}", "weight: 99}", &["11: spec.members: the weights sum to 99; make them sum to weightTotal, 100"]),
    ("weight: 100}", "weight: 0}", &["11: spec.members: the weights sum to 0; make them sum to weightTotal, 100"]),
    (
        "weight: 100}",
        "weight: 1.5}",
        &["13: spec.members[1].weight: 1.5 is not allowed; write a whole number from 0 to 10000"],
    ),
    (
        "weight: 100}",
        "weight: -1}",
        &["13: spec.members[1].weight: -1 is not allowed; write a whole number from 0 to 10000"],
    ),
    ("weight: 100}", "weight: .nan}", &["13: spec.members[1].weight: is not a finite number; write a plain number"]),
    (
        "initialWeight: 100}",
        "initialWeight: 90}",
        &["11: spec.members: the initial weights sum to 90; make them sum to weightTotal, 100"],
    ),
    ("name: eu-3", "name: eu-1", &["13: spec.members[1].name: \"eu-1\" occurs twice; each may occur once"]),
    (
        "name: eu-3",
        "name: EU_3",
        &[
            "13: spec.members[1].name: \"EU_3\" is not allowed; write a name of lower-case letters, digits and \"-\" of at most 61 characters",
        ],
    ),
    // Stages.
    (
        "  strategy:\n",
        "  strategy:\n    stages: [{name: first, members: [eu-2]}]\n",
        &[
            "15: spec.strategy.stages[0].members[0]: \"eu-2\" is not in spec.members; did you mean eu-3?",
            "15: spec.strategy.stages: \"eu-3\" gains weight, but is in no stage; add it to a stage",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    stages: [{name: a, members: [eu-3]}, {name: b, members: [eu-3]}]\n",
        &["15: spec.strategy.stages[1].members[0]: \"eu-3\" is named more than once; leave it in one stage"],
    ),
    // Unknown and missing.
    (
        "  analysis:",
        "  anlysis:",
        &[
            "4: spec.analysis: missing; give a mapping with failures, interval, lag, metrics, settle, share, unknown",
            "19: spec.anlysis: unknown field; did you mean analysis?",
        ],
    ),
    (
        "progress: 10%",
        "stepWeight: 5, progress: 10%",
        &[
            "16: spec.strategy.steps[0].stepWeight: unknown field; known are: bake, iterations, matches, mirror, progress, wait",
        ],
    ),
    ("kind: FleetRollout", "kind: FleetRolout", &["2: kind: \"FleetRolout\" is not known; did you mean FleetRollout?"]),
    (
        "cutover.dev/v1alpha1",
        "cutover.dev/v1",
        &["1: apiVersion: \"cutover.dev/v1\" is not known; write cutover.dev/v1alpha1"],
    ),
    (
        "metadata: {name: shop, namespace: shop}",
        "metadata: {namespace: shop}",
        &["3: metadata.name: missing; give the object a name"],
    ),
    // Services and routes.
    (
        "port: 80",
        "port: 70000",
        &["7: spec.services[0].port: 70000 is not allowed; write a whole number from 1 to 65535"],
    ),
    (
        "gatewayAPI: {name: public}",
        "gatewayAPI: {name: public}\n          contour: {name: public}",
        &[
            "10: spec.services[0].routes[0]: gatewayAPI and contour are both given; give exactly one of gatewayAPI, contour, skipper, nginx, aliyunALB, kubernetes",
        ],
    ),
    (
        "gatewayAPI: {name: public}",
        "istio: {name: public}",
        &[
            "10: spec.services[0].routes[0].istio: unknown field; known are: aliyunALB, contour, gatewayAPI, kubernetes, nginx, skipper",
            "10: spec.services[0].routes[0]: nothing is chosen; give exactly one of gatewayAPI, contour, skipper, nginx, aliyunALB, kubernetes",
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
        "kubernetes: {name: storefront}",
        &[
            "10: spec.services[0].routes[0]: 2 members would carry traffic at once, but kubernetes has no weights; give one \
             member all the weight, and use strategy.steps: [{progress: 100%}]; or use a route with weights",
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
    // Analysis.
    (
        "  analysis:\n",
        "  analysis:\n    interval: 5s\n",
        &[
            "20: warning: spec.analysis.interval: 5s is shorter than most scrape intervals; a check may see the same samples again; 10s or more is usual",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    interval: 2h\n",
        &[
            "14: warning: spec.strategy.bake: 5m is shorter than the 2h window of metric \"errors\"; each bake lasts 2h anyway, so that older samples do not count; write 2h",
            "20: spec.analysis.interval: 2h is not allowed; write a time from 1s to 1h",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    interval: -5m\n",
        &["20: spec.analysis.interval: \"-5m\" is not allowed; write a time in whole h, m, s or ms, such as 1h30m"],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    bake: 10s\n",
        &[
            "15: warning: spec.strategy.bake: 10s is shorter than the 1m window of metric \"errors\"; each bake lasts 1m anyway, so that older samples do not count; write 1m",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    progressDeadline: 10m\n",
        &[
            "15: spec.strategy.progressDeadline: 10m is less than 16m30s, the time that settle and bake of all steps take; write more than 16m30s, or leave it out",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    failures: {limit: 5, within: 3}\n",
        &[
            "20: spec.analysis.failures.limit: 5 failures among the last 3 checks cannot happen; at most 3, or a larger within",
        ],
    ),
    (
        "        max: 1\n",
        "",
        &["21: spec.analysis.metrics[0]: has no limit, so it would never fail; give max, min or perMember"],
    ),
    (
        "        max: 1\n",
        "        min: 5\n        max: 1\n",
        &["25: spec.analysis.metrics[0].min: 5 is more than max (1); min is at most max"],
    ),
    (
        "        max: 1\n",
        "        max: 1e400\n",
        &["25: spec.analysis.metrics[0].max: is not a finite number; write a plain number"],
    ),
    (
        "        max: 1\n",
        "        max: 1000\n",
        &["25: spec.analysis.metrics[0].max: 1000 is not a percentage; a ratio is in percent, from 0 to 100"],
    ),
    (
        "        max: 1\n",
        "        max: 1\n        guard: {max: 0.5}\n",
        &[
            "26: warning: spec.analysis.metrics[0].guard.max: 0.5 is stricter than the metric's own max (1); one check beyond a guard rolls back; make the guard the wider limit",
        ],
    ),
    (
        "        max: 1\n",
        "        max: 1\n        query: up\n",
        &[
            "21: spec.analysis.metrics[0]: ratio and query are both given; give exactly one of ratio, histogram, query, templateRef, builtin",
        ],
    ),
    (
        "denominator: 'sum(increase(http_requests_total",
        "denominator: 'sum(increase(requests_total",
        &[
            "23: warning: spec.analysis.metrics[0].ratio.numerator: counts \"http_requests_total\", but the denominator counts \"requests_total\"; numerator and denominator should select the same series",
        ],
    ),
    (
        "code=~\"5..\"}[{{ window }}]",
        "code=~\"5..\"}[{{ windw }}]",
        &["23: spec.analysis.metrics[0].ratio.numerator: variable \"windw\" is not known; did you mean {{ window }}?"],
    ),
    (
        "code=~\"5..\"}[{{ window }}]",
        "code=~\"5..\"}[5m]",
        &[
            "23: warning: spec.analysis.metrics[0].ratio.numerator: covers a fixed time, so samples of earlier weights may be included; use [{{ window }}]",
        ],
    ),
];
