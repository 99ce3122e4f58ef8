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
];
