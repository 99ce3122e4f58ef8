//! Weights, members and stages.

use super::Case;

pub const CASES: &[Case] = &[
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
];
