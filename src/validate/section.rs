//! The sections of a rollout and the rules about them, so that a mistake in one does not hide those in another.

use serde_json::{Value, json};

use super::{Problem, analysis, hooks, http_settings, members, mode, names, routes, schema, strategy, windows};
use crate::api::FleetRolloutSpec;

/// A part of a rollout's spec that is read by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Services,
    Members,
    Strategy,
    Analysis,
    Hooks,
}

type Rule = fn(&FleetRolloutSpec) -> Vec<Problem>;

/// Every rule, with the sections that it reads.
const RULES: &[(&[Section], Rule)] = &[
    (&[Section::Members], members::weights),
    (&[Section::Services, Section::Members], members::long_names),
    (&[Section::Services, Section::Members], names::collisions),
    (&[Section::Services, Section::Members, Section::Strategy], mode::mode),
    (&[Section::Services], routes::routes),
    (&[Section::Services], http_settings::settings),
    (&[Section::Services, Section::Members], routes::backends),
    (&[Section::Services, Section::Members, Section::Strategy], routes::beyond),
    (&[Section::Strategy], strategy::steps),
    (&[Section::Strategy, Section::Members], strategy::stages),
    (&[Section::Strategy], windows::windows),
    (&[Section::Strategy, Section::Analysis], windows::too_short),
    (&[Section::Analysis], analysis::analysis),
    (&[Section::Strategy, Section::Analysis], analysis::bakes),
    (&[Section::Hooks], hooks::hooks),
    (&[Section::Services, Section::Analysis], analysis::same_for_all_services),
];

/// A spec as far as it can be read.
pub(super) struct Readable {
    /// With stand-ins for what cannot be read.
    pub(super) spec: FleetRolloutSpec,
    /// Sections of which nothing could be read.
    unread: Vec<Section>,
    /// Sections that lack what does not fit.
    mended: Vec<Section>,
}

impl Readable {
    pub(super) fn is_whole(&self) -> bool {
        self.unread.is_empty() && self.mended.is_empty()
    }

    /// What the rules say of the sections that could be read.
    pub(super) fn problems(&self) -> Vec<Problem> {
        rules(&self.spec, &self.unread, &self.mended)
    }
}

/// What the rules say. They need none of the `unread` sections; and one about several sections could be wrong about one
/// that was mended.
pub(super) fn rules(spec: &FleetRolloutSpec, unread: &[Section], mended: &[Section]) -> Vec<Problem> {
    let applies = |sections: &[Section]| {
        let is_whole = || !sections.iter().any(|section| mended.contains(section));
        !sections.iter().any(|section| unread.contains(section)) && (sections.len() == 1 || is_whole())
    };
    RULES.iter().filter(|(sections, _)| applies(sections)).flat_map(|(_, rule)| rule(spec)).collect()
}

/// Reads a spec section by section; one that does not fit its schema is read without what does not fit.
pub(super) fn readable(spec: &Value, shape: &Value) -> Option<Readable> {
    if let Ok(spec) = serde_json::from_value(spec.clone()) {
        return Some(Readable { spec, unread: Vec::new(), mended: Vec::new() });
    }
    let mut whole = json!({"services": [], "members": [], "analysis": {"metrics": []}});
    let (mut unread, mut mended) = (Vec::new(), Vec::new());
    for (field, section) in [
        ("services", Section::Services),
        ("members", Section::Members),
        ("weightTotal", Section::Members),
        ("strategy", Section::Strategy),
        ("analysis", Section::Analysis),
        ("hooks", Section::Hooks),
        ("skipAnalysis", Section::Hooks),
    ] {
        let with = |value: Option<Value>| {
            let mut candidate = whole.clone();
            candidate[field] = value?;
            serde_json::from_value::<FleetRolloutSpec>(candidate.clone()).ok().map(|_| candidate)
        };
        if let Some(candidate) = with(Some(spec[field].clone())) {
            whole = candidate;
        } else if spec[field].is_null() && whole[field].is_null() {
        } else if let Some(candidate) = with(schema::mended(&shape["properties"][field], &spec[field])) {
            whole = candidate;
            mended.push(section);
        } else {
            unread.push(section);
        }
    }
    Some(Readable { spec: serde_json::from_value(whole).ok()?, unread, mended })
}
