//! Service mode.

use super::Case;

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

/// From the backend to the last step.
const FROM_BACKEND_TO_STEPS: &str = concat!(
    "      backend: {externalName: {}}\n",
    "      routes:\n",
    "        - gatewayAPI: {name: public}\n",
    "  members:\n",
    "    - {name: eu-1, weight: 0, initialWeight: 100}\n",
    "    - {name: eu-3, weight: 100}\n",
    "  strategy:\n",
    "    steps:\n",
    "      - {progress: 10%}\n",
    "      - {progress: 50%}\n",
    "      - {progress: 100%}\n",
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

pub const CASES: &[Case] = &[
    (
        WHOLE_STRATEGY,
        "  strategy: {steps: [{progress: 50%, wait: Promotion, approval: {notAuthor: true}}, {progress: 100%}]}\n",
        &[
            "11: spec.strategy.steps[0].approval.notAuthor: needs the author of the change, and nobody knows who changed a Service; leave it out, or declare spec.members",
        ],
    ),
    (
        WHOLE_STRATEGY,
        "  strategy: {ramp: {stepWeights: [20, 60, 120]}}\n",
        &["11: warning: spec.strategy.ramp.stepWeights[2]: 120 is more than all traffic; it counts as 100; write 100"],
    ),
    (
        "      backend: {externalName: {}}\n",
        "      track: {workloads: [{kind: Deployment, name: shop}], primaryCopies: true}\n",
        &[
            "8: spec.services[0].track.primaryCopies: belongs to service mode, a rollout without members; leave it out, or leave spec.members out",
        ],
    ),
    (
        FROM_BACKEND_TO_STEPS,
        "      backend: {clusterIP: {}}\n      routes: [{kubernetes: {name: storefront}}]\n  strategy: {ramp: {iterations: 3}}\n",
        &[
            "9: spec.services[0].routes[0].kubernetes: would switch \"storefront\", the very Service that declares the target; name another Service, or write create: {name: storefront-live}; clients call that one",
        ],
    ),
    (
        FROM_BACKEND_TO_STEPS,
        "      routes: [{kubernetes: {create: {name: storefront-canary}}}]\n  strategy: {ramp: {stepWeights: [20, 100]}}\n",
        &[
            "8: spec.services[0].routes[0].kubernetes: would switch \"storefront-canary\", which the hub makes; name another Service, or write create: {name: storefront-live}; clients call that one",
            "8: spec.services[0].routes[0]: 2 members would carry traffic at once, but kubernetes has no weights; give one member all the weight, and use strategy.steps: [{progress: 100%}]; or use a route with weights",
        ],
    ),
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
        "  strategy:\n    ramp: {stepWeight: 20, matches: [{headers: [{name: x-test}]}]}\n",
        &[
            "8: spec.services[0].backend: is externalName, but ramp.matches changes the primary while it has traffic, and real data planes refuse requests while an external name changes; use clusterIP, or steps: [{matches: …, iterations: …}, {progress: 100%}], which send all traffic to the canary first",
            "12: spec.strategy.ramp: matches belongs to iterations, without mirror and stepWeightPromotion; write iterations and matches only",
            "12: spec.strategy.ramp.matches[0].headers[0]: has none or several of exact, prefix and regex; give exactly one of exact, prefix and regex",
        ],
    ),
    (
        WHOLE_STRATEGY,
        "  strategy:\n    ramp: {stepWeights: [20, 110, 120]}\n",
        &[
            "12: warning: spec.strategy.ramp.stepWeights[1]: 110 is more than all traffic; it counts as 100; write 100",
            "12: warning: spec.strategy.ramp.stepWeights[2]: is never reached: the canary has all traffic before it; leave it out",
        ],
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
];
