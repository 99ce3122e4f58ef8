//! Fields of other tools, fields in the wrong place, and values of the wrong type, which hide no other mistake.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "{progress: 10%}",
        "{setWeight: 20}",
        &[
            "16: spec.strategy.steps[0].setWeight: is a field of Argo Rollouts; write progress: 20%, the part of the way from the old weights to the new ones",
        ],
    ),
    (
        "{progress: 10%}",
        "{weight: 20}",
        &[
            "16: spec.strategy.steps[0].weight: is a field of Argo Rollouts; write progress: 20%, the part of the way from the old weights to the new ones",
        ],
    ),
    (
        "      - {progress: 50%}\n",
        "      - {pause: {duration: 1h}}\n",
        &[
            "17: spec.strategy.steps[1].pause: is a field of Argo Rollouts; write wait: Promotion, or a time such as wait: 10m",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    canaryService: shop-canary\n    trafficRouting: {istio: {}}\n",
        &[
            "15: spec.strategy.canaryService: is a field of Argo Rollouts; write spec.services: name, port and routes of each Service",
            "16: spec.strategy.trafficRouting: is a field of Argo Rollouts; write routes below the service, such as [{gatewayAPI: {name: public}}]",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    canary: {steps: []}\n",
        &[
            "15: spec.strategy.canary: is a field of Argo Rollouts; write strategy.steps, such as [{progress: 10%}, {progress: 100%}]",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    templates: [{templateName: errors}]\n",
        &[
            "20: spec.analysis.templates: is a field of Argo Rollouts; write metrics with templateRef: {name: …}, a MetricTemplate of this namespace",
        ],
    ),
    (
        "        max: 1\n",
        "        successCondition: result < 1\n        failureLimit: 3\n        max: 1\n",
        &[
            "25: spec.analysis.metrics[0].successCondition: is a field of Argo Rollouts; write max or min",
            "26: spec.analysis.metrics[0].failureLimit: is a field of Argo Rollouts; write spec.analysis.failures: {limit: 3, within: 10}",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    threshold: 5\n    maxWeight: 50\n",
        &[
            "20: spec.analysis.threshold: is a field of Flagger; write spec.analysis.failures: {limit: 3, within: 10}",
            "21: spec.analysis.maxWeight: is a field of Flagger; write strategy.steps, such as [{progress: 10%}, {progress: 100%}], or without members strategy.ramp",
        ],
    ),
    (
        "        max: 1\n",
        "        thresholdRange: {max: 1}\n",
        &["25: spec.analysis.metrics[0].thresholdRange: is a field of Flagger; write max or min"],
    ),
    (
        "        max: 1\n",
        "        interval: 1m\n        max: 1\n",
        &[
            "25: spec.analysis.metrics[0].interval: is a field of Flagger; write window, the time that {{ window }} covers",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    webhooks: []\n",
        &[
            "20: spec.analysis.webhooks: is a field of Flagger; cutover calls no webhooks; write wait: Promotion, and run cutover promote from your pipeline",
        ],
    ),
    (
        "  services:\n",
        "  targetRef: {kind: Deployment, name: shop}\n  services:\n",
        &["5: spec.targetRef: is a field of Flagger; write spec.services: name, port and routes of each Service"],
    ),
    (
        "  services:\n",
        "  progressDeadlineSeconds: 600\n  replicas: 3\n  services:\n",
        &[
            "5: spec.progressDeadlineSeconds: is a field of a Deployment; write spec.strategy.progressDeadline, such as 4h",
            "6: spec.replicas: is a field of a Deployment; cutover moves traffic and no Pods; leave it out",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    settle: 30s\n",
        &["15: spec.strategy.settle: unknown field; it belongs to spec.analysis"],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    keepPrevious: 1h\n",
        &["20: spec.analysis.keepPrevious: unknown field; it belongs to spec.strategy"],
    ),
    (
        "{progress: 10%}",
        "{progress:10%}",
        &["16: spec.strategy.steps[0][\"progress:10%\"]: has no space after its colon; write progress: 10%"],
    ),
    (
        "  services:\n",
        "  weightTotal: 100%\n  services:\n",
        &["5: spec.weightTotal: \"100%\" is not allowed; write a whole number from 1 to 10000"],
    ),
    (
        "        max: 1\n",
        "        max: 1%\n        guard: {max: 20, min: 30}\n",
        &[
            "25: spec.analysis.metrics[0].max: \"1%\" is not allowed; write a number",
            "26: spec.analysis.metrics[0].guard.min: 30 is more than max (20); min is at most max",
        ],
    ),
    (
        "weight: 0, initialWeight: 100}\n    - {name: eu-3, weight: 100}\n  strategy:\n",
        "weight: none, initialWeight: 90}\n    - {name: eu-3, weight: 100}\n  strategy:\n    progressDeadline: 1m\n",
        &[
            "12: spec.members[0].weight: \"none\" is not allowed; write a whole number from 0 to 10000",
            "15: spec.strategy.progressDeadline: 1m is less than 16m30s, the time that settle and bake of all steps take; write more than 16m30s, or leave it out",
        ],
    ),
    (
        "        max: 1\n",
        "        max: 1\n      - {name: Late, query: 'up{', perMember: {max: 1}, window: 5}\n",
        &[
            "26: spec.analysis.metrics[1].name: \"Late\" is not allowed; write a name of lower-case letters, digits and \"-\" of at most 63 characters",
            "26: spec.analysis.metrics[1].window: 5 is not allowed; write a time in whole h, m, s or ms, such as 1h30m",
            "26: spec.analysis.metrics[1].query: is not PromQL: unexpected end of input inside braces; correct the query",
        ],
    ),
];
