//! Hooks: their times, their certificates, and hooks that are never called.

use super::problem::{Problem, quoted};
use crate::api::{
    Duration, FleetRolloutSpec,
    hook::{Hook, HookType},
};

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(300);

/// Every hook.
pub(super) fn hooks(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let each = spec.hooks.iter().enumerate();
    each.flat_map(|(i, hook)| of_hook(&format!("spec.hooks[{i}]"), hook, spec.skip_analysis)).collect()
}

fn of_hook(path: &str, hook: &Hook, skips_analysis: bool) -> Vec<Problem> {
    let timeout = (hook.timeout < SHORTEST || hook.timeout > LONGEST).then(|| {
        let found = format!("{} is not allowed", hook.timeout);
        Problem::error(format!("{path}.timeout"), found, "write a time from 100ms to 5m")
    });
    let bundle = hook.ca_bundle.as_ref().filter(|pem| !pem.contains("-----BEGIN CERTIFICATE-----")).map(|pem| {
        let found = format!("{} is no certificate", quoted(pem));
        Problem::error(
            format!("{path}.caBundle"),
            found,
            "write certificates in PEM, from -----BEGIN CERTIFICATE----- on",
        )
    });
    let unused = (hook.ca_bundle.is_some() && hook.url.starts_with("http://")).then(|| {
        let remedy = "write an https URL, or leave it out";
        Problem::error(format!("{path}.caBundle"), "is not used, because the url is http", remedy)
    });
    timeout.into_iter().chain(bundle).chain(unused).chain(never_called(path, hook, skips_analysis)).collect()
}

/// Without analysis a change is promoted at once.
fn never_called(path: &str, hook: &Hook, skips_analysis: bool) -> Option<Problem> {
    let is_left_out = match hook.kind {
        HookType::ConfirmRollout
        | HookType::Skip
        | HookType::PreRollout
        | HookType::Rollout
        | HookType::ConfirmTrafficIncrease
        | HookType::ConfirmPromotion
        | HookType::Rollback => true,
        HookType::PostRollout | HookType::Event => false,
    };
    (skips_analysis && is_left_out).then(|| {
        let found = format!("{:?} is not called while skipAnalysis is true", hook.kind);
        Problem::warning(format!("{path}.type"), found, "leave out skipAnalysis, or this hook")
    })
}
