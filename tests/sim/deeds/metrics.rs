//! P9: what a member's Prometheus answers.

use super::super::{
    fleet::{Metrics, Wrong},
    plan::sorts::MetricsFault,
    scenario::MEMBERS,
    world::World,
};

pub fn answer_badly(world: &World, what: MetricsFault, begins: bool) {
    let wrong = wrong(what);
    // Another member may be the canary in the end than was in the beginning.
    for name in if begins { whose(world, what) } else { MEMBERS.to_vec() } {
        world.fleet().member(name).metrics = begins.then_some(wrong);
    }
}

fn wrong(what: MetricsFault) -> Metrics {
    match what {
        MetricsFault::Down | MetricsFault::OneMissing | MetricsFault::Flapping => Metrics::Door(Wrong::Refused),
        MetricsFault::SlowIn => Metrics::Door(Wrong::Slow(4_900)),
        MetricsFault::SlowOut => Metrics::Door(Wrong::Slow(5_100)),
        MetricsFault::Internal => Metrics::Door(Wrong::Status(500)),
        MetricsFault::Unavailable => Metrics::Door(Wrong::Status(503)),
        MetricsFault::Nan => Metrics::Value("NaN"),
        MetricsFault::PlusInfinity => Metrics::Value("+Inf"),
        MetricsFault::MinusInfinity => Metrics::Value("-Inf"),
        MetricsFault::Negative => Metrics::Failures("-7"),
        MetricsFault::Empty => Metrics::Empty,
        MetricsFault::NoValue => Metrics::NoValue,
        MetricsFault::Null => Metrics::Null,
        MetricsFault::Histogram => Metrics::Histogram,
        MetricsFault::Two => Metrics::Series(2),
        MetricsFault::Flood => Metrics::Series(5_000),
        MetricsFault::Matrix => Metrics::Type("matrix"),
        MetricsFault::Scalar => Metrics::Type("scalar"),
        MetricsFault::Text => Metrics::Type("string"),
        MetricsFault::Stale => Metrics::Older(3_600),
        MetricsFault::Future => Metrics::Older(-3_600),
        MetricsFault::Warnings => Metrics::Warnings,
    }
}

/// One primary member, or by the seed the canary or all.
fn whose(world: &World, what: MetricsFault) -> Vec<&'static str> {
    match (what, world.plan.seed % 2) {
        (MetricsFault::OneMissing, _) => vec!["eu-1"],
        (_, 0) => vec![world.canary()],
        _ => MEMBERS.to_vec(),
    }
}

/// It goes and comes back every seven seconds.
pub fn flap(world: &World, passed: f64) {
    let wrong = ((passed / 7.0) as u64).is_multiple_of(2);
    world.fleet().member(world.canary()).metrics = wrong.then_some(Metrics::Door(Wrong::Refused));
}
