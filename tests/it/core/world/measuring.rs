//! What the members' metrics say.

use cutover::rollout::input::{Measured, MeasurementRequest, Sample, Sampled};

use super::{Metrics, World};

impl World {
    pub(super) fn measure(&self, wanted: &MeasurementRequest) -> Measured {
        let run = self.run();
        let desired = self.status.desired.as_ref().unwrap();
        let steered = |name: &str| desired.split.steered().any(|member| member == name);
        let above = |name: &str| desired.split.weights.weight(name) > run.rollback_to.weight(name);
        let canary = |name: &str| steered(name) || above(name);
        let mut samples = Vec::new();
        for service in &wanted.services {
            for metric in &wanted.windows {
                for member in &wanted.members {
                    samples.push(Sampled {
                        service: service.clone(),
                        metric: metric.metric.clone(),
                        member: member.clone(),
                        whole: metric.whole,
                        sample: self.sample(canary(member)),
                    });
                }
            }
        }
        Measured { at: wanted.at, sequence: wanted.sequence, samples }
    }

    fn sample(&self, canary: bool) -> Sample {
        let ratio = |errors: f64, of: f64| Sample::Ratio { numerator: Some(errors), denominator: Some(of) };
        match self.metrics {
            Metrics::CanaryFails if canary => ratio(50.0, 1000.0),
            Metrics::CanaryBreaksGuard if canary => ratio(40.0, 40.0),
            Metrics::CanarySilent if canary => Sample::Missing("prometheus: connection refused".to_owned()),
            Metrics::TooFew => ratio(0.0, 3.0),
            Metrics::AllFail => ratio(50.0, 1000.0),
            Metrics::Good | Metrics::CanaryFails | Metrics::CanaryBreaksGuard | Metrics::CanarySilent => {
                ratio(1.0, 1000.0)
            }
        }
    }
}
