//! What every tool's object becomes: a rollout in service mode, with what was read beside it.

use super::{
    Translated,
    fields::Fields,
    foreign::Foreign,
    manifest::manifest,
    metadata,
    remarks::{Refusal, Remarks},
};
use crate::api::{Analysis, DeletionPolicy, FleetRollout, FleetRolloutSpec, ServiceSpec, Strategy};

/// The rollout of an object of a tool, as `read` understands its spec; without a manifest where it is refused. `extent` says how
/// far the object is understood.
pub(super) fn rollout(
    of: &Foreign,
    tool: &str,
    extent: &str,
    read: impl FnOnce(&mut Fields<'_>, &mut Remarks) -> Option<FleetRolloutSpec>,
) -> (Option<Translated>, Vec<Refusal>) {
    let mut remarks = of.remarks(tool, extent);
    let mut fields = of.spec(&mut remarks);
    let spec = read(&mut fields, &mut remarks);
    fields.name_the_rest(&mut remarks);
    metadata::annotations(of, &mut remarks);
    let manifest = spec.map(|spec| {
        let mut rollout = FleetRollout::new(of.name(), spec);
        rollout.metadata = metadata::of_rollout(of);
        manifest(&rollout, of, &remarks)
    });
    (manifest, remarks.refusals)
}

/// A rollout of one service in service mode, with nothing that is not said of it.
pub(super) fn of_service(service: ServiceSpec, strategy: Strategy, analysis: Analysis) -> FleetRolloutSpec {
    FleetRolloutSpec {
        services: vec![service],
        weight_total: 100,
        members: Vec::new(),
        strategy,
        analysis,
        skip_analysis: false,
        alerts: Vec::new(),
        depends_on: Vec::new(),
        hooks: Vec::new(),
        paused: false,
        suspend: false,
        deletion_policy: DeletionPolicy::Retain,
    }
}
