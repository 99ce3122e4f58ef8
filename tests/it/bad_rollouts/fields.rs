//! Fields and kinds that are unknown or missing.

use super::Case;

pub const CASES: &[Case] = &[
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
            "16: spec.strategy.steps[0].stepWeight: is a field of Flagger; write strategy.steps, such as [{progress: 10%}, {progress: 100%}], or without members strategy.ramp",
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
];
