//! The sections of a rollout and the rules about them, so that a mistake in one does not hide those in another.

use serde_json::{Value, json};

use super::{Problem, analysis, members, mode, names, routes, strategy, windows};
use crate::api::FleetRolloutSpec;

/// A part of a rollout's spec that is read by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Services,
    Members,
    Strategy,
    Analysis,
}

type Rule = fn(&FleetRolloutSpec) -> Vec<Problem>;

/// Every rule, with the sections that it reads.
const RULES: &[(&[Section], Rule)] = &[
    (&[Section::Members], members::weights),
    (&[Section::Services, Section::Members], members::long_names),
    (&[Section::Services, Section::Members], names::collisions),
    (&[Section::Services, Section::Members, Section::Strategy], mode::mode),
    (&[Section::Services], routes::routes),
    (&[Section::Services, Section::Members], routes::backends),
    (&[Section::Services, Section::Members, Section::Strategy], routes::beyond),
    (&[Section::Strategy], strategy::steps),
    (&[Section::Strategy, Section::Members], strategy::stages),
    (&[Section::Strategy], windows::windows),
    (&[Section::Strategy, Section::Analysis], windows::too_short),
    (&[Section::Analysis], analysis::analysis),
    (&[Section::Strategy, Section::Analysis], analysis::bakes),
    (&[Section::Services, Section::Analysis], analysis::same_for_all_services),
];

/// What the rules say that need none of the `unread` sections.
pub(super) fn rules(spec: &FleetRolloutSpec, unread: &[Section]) -> Vec<Problem> {
    let applies = |sections: &[Section]| !sections.iter().any(|section| unread.contains(section));
    RULES.iter().filter(|(sections, _)| applies(sections)).flat_map(|(_, rule)| rule(spec)).collect()
}

/// A spec with stand-ins for the sections that cannot be read, and which those are.
pub(super) fn readable(spec: &Value) -> Option<(FleetRolloutSpec, Vec<Section>)> {
    if let Ok(spec) = serde_json::from_value(spec.clone()) {
        return Some((spec, Vec::new()));
    }
    let mut whole = json!({"services": [], "members": [], "analysis": {"metrics": []}});
    let mut unread = Vec::new();
    for (field, section) in [
        ("services", Section::Services),
        ("members", Section::Members),
        ("weightTotal", Section::Members),
        ("strategy", Section::Strategy),
        ("analysis", Section::Analysis),
    ] {
        let mut candidate = whole.clone();
        candidate[field] = spec[field].clone();
        match serde_json::from_value::<FleetRolloutSpec>(candidate.clone()) {
            Ok(_) => whole = candidate,
            Err(_) if spec[field].is_null() && whole[field].is_null() => {}
            Err(_) => unread.push(section),
        }
    }
    Some((serde_json::from_value(whole).ok()?, unread))
}
