//! What the demo declares: the rollout, as its reader would write it.

use serde_json::{Value, json};

use super::pace::{INTERVAL, Pace};
use crate::api::Distribution;

/// Name and namespace of everything that is declared.
pub(super) const NAMESPACE: &str = "shop";
/// Name of the rollout.
pub(super) const ROLLOUT: &str = "shop";
/// Share of the canary at each step, in percent.
pub(super) const STEPS: [u32; 4] = [5, 25, 50, 100];

/// What examples/first-rollout names: the sandbox has it, so that the example can be applied as it is.
pub(super) struct Example {
    pub(super) members: [&'static str; 2],
    pub(super) service: &'static str,
    pub(super) route: &'static str,
}

pub(super) const EXAMPLE: Example = Example { members: ["eu-1", "eu-3"], service: "storefront", route: "public" };

/// Who takes part, and how fast it goes.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) members: Vec<String>,
    pub(super) services: Vec<String>,
    pub(super) pace: Pace,
    /// Whether the hub asks for its Lease: one that was killed keeps it for 15 s.
    pub(super) elects: bool,
}

impl Plan {
    /// The new cluster.
    pub(super) fn new_member(&self) -> &str {
        self.members.last().map_or("", String::as_str)
    }

    /// The one that is tried after it.
    pub(super) fn next_member(&self) -> &str {
        self.members.iter().rev().nth(1).map_or("", String::as_str)
    }

    /// Before anything moves: all but the new cluster carry the same, as far as whole percents allow.
    pub(super) fn first(&self) -> Distribution {
        let old = self.members.len().saturating_sub(1).max(1);
        let share = |index: usize| 100 / old + usize::from(index < 100 % old);
        let weight = |index| u32::try_from(if index < old { share(index) } else { 0 }).unwrap_or(0);
        self.members.iter().enumerate().map(|(index, name)| (name.clone(), weight(index))).collect()
    }

    /// Everything to one member.
    pub(super) fn all_to(&self, member: &str) -> Distribution {
        self.members.iter().map(|name| (name.clone(), if name == member { 100 } else { 0 })).collect()
    }

    /// The rollout towards `target`, each run of which is confirmed by the hook at this URL.
    pub(super) fn rollout(&self, target: &Distribution, gate: &str) -> Value {
        let service = |name: &String| json!({"name": name, "port": 80, "routes": [{"gatewayAPI": {"name": name}}]});
        let step = |(index, progress): (usize, &u32)| {
            let last = index + 1 == STEPS.len();
            let progress = format!("{progress}%");
            if last { json!({"progress": progress}) } else { json!({"progress": progress, "wait": "Promotion"}) }
        };
        json!({
            "apiVersion": "cutover.dev/v1alpha1",
            "kind": "FleetRollout",
            "metadata": {"name": ROLLOUT, "namespace": NAMESPACE},
            "spec": {
                "services": self.services.iter().map(service).collect::<Vec<_>>(),
                "members": members(target),
                "strategy": {
                    "steps": STEPS.iter().enumerate().map(step).collect::<Vec<_>>(),
                    "bake": self.pace.bake(),
                },
                "analysis": self.analysis(),
                "hooks": [{"name": "gate", "type": "ConfirmRollout", "url": gate}],
            },
        })
    }

    fn analysis(&self) -> Value {
        let counted = |series: &str, more: &str| {
            format!("increase({series}{{service=\"{{{{ service }}}}\"{more}}}[{{{{ window }}}}])")
        };
        let window = self.pace.window();
        let errors = json!({
            "name": "errors",
            "ratio": {
                "numerator": format!("sum({})", counted("http_requests_total", ",code=~\"5..\"")),
                "denominator": format!("sum({})", counted("http_requests_total", "")),
            },
            "window": window, "max": 1, "guard": {"max": 20}, "minSamples": 20,
        });
        let latency = json!({
            "name": "p99",
            "histogram": {
                "buckets": format!("sum by (le) ({})", counted("http_request_duration_seconds_bucket", "")),
                "quantile": 0.99,
            },
            "window": window, "max": 0.25, "minSamples": 20,
        });
        json!({
            "interval": INTERVAL, "settle": self.pace.settle(), "lag": self.pace.lag(),
            "failures": {"limit": 2, "within": 10}, "share": {"within": 10}, "metrics": [errors, latency],
        })
    }
}

/// `spec.members` for a distribution.
pub(super) fn members(target: &Distribution) -> Value {
    target.iter().map(|(name, weight)| json!({"name": name, "weight": weight})).collect()
}

/// The name that clients call.
pub(super) fn host(service: &str) -> String {
    format!("{service}.test")
}

/// The name under which the data plane reaches a member.
pub(super) fn gateway(member: &str) -> String {
    format!("{member}.example.com")
}

/// Weights by member, as `eu-1 50 %, eu-2 50 %`.
pub(super) fn carrying(weights: &Distribution) -> String {
    crate::cli::text::shares(weights, 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api::FleetRollout, validate::Severity};

    fn plan(members: u8) -> Plan {
        Plan {
            members: (1..=members).map(|number| format!("eu-{number}")).collect(),
            services: vec!["catalog".to_owned()],
            pace: "1".parse().unwrap(),
            elects: true,
        }
    }

    #[test]
    fn the_old_members_share_everything() {
        for members in 2..=8 {
            let first = plan(members).first();
            assert_eq!((first.total(), first.weight(&format!("eu-{members}"))), (100, 0), "{first:?}");
        }
        assert_eq!(carrying(&plan(4).first()), "eu-1 34 %, eu-2 33 %, eu-3 33 %");
    }

    #[test]
    fn what_is_declared_is_without_a_mistake() {
        let plan = plan(3);
        let rollout: FleetRollout =
            serde_json::from_value(plan.rollout(&plan.all_to("eu-3"), "http://127.0.0.1:8090/gate/shop")).unwrap();
        let problems = crate::validate::rollout(&rollout.spec);
        let errors: Vec<_> = problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}
