//! What is declared in each run.

use serde_json::{Value, json};

use super::{super::plan::Run, Scenario, objects::members};

/// The host of the receiver of hooks, and the hooks by name and type.
pub const RECEIVER: &str = "hooks.example.com";
const HOOKS: [(&str, &str); 7] = [
    ("open", "ConfirmRollout"),
    ("smoke", "PreRollout"),
    ("load", "Rollout"),
    ("more", "ConfirmTrafficIncrease"),
    ("promote", "ConfirmPromotion"),
    ("report", "PostRollout"),
    ("bus", "Event"),
];

impl Scenario {
    pub fn spec(&self) -> Value {
        let services: Vec<&str> = {
            let mut names: Vec<&str> = self.routes.values().copied().collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let service = |name: &&str| {
            let routes = self.routes.iter().filter(|(_, service)| service == &name);
            let routes: Vec<Value> = routes.map(|(route, _)| self.form.declared(route)).collect();
            json!({"name": name, "port": 80, "routes": routes})
        };
        let services: Vec<Value> = services.iter().map(service).collect();
        let members = match self.run {
            Run::Promotion | Run::Rollback | Run::Retarget | Run::Deletion | Run::Mixed | Run::Hooks => {
                members(&[("eu-3", 100)])
            }
            Run::Fleet => members(&[("eu-1", 20), ("eu-3", 80)]),
            Run::Service => Value::Null,
        };
        let first = if self.run == Run::Promotion {
            json!({"progress": "20%", "wait": "Promotion"})
        } else {
            json!({"progress": "20%"})
        };
        let mut spec = json!({
            "services": services,
            "members": members,
            "deletionPolicy": self.deletion_policy,
            "strategy": {"bake": "15s", "keepPrevious": "10s", "progressDeadline": "30m",
                         "steps": [first, {"progress": "60%"}, {"progress": "100%"}]},
            "analysis": {
                "interval": "5s", "settle": "3s", "lag": "1s",
                "unknown": {"limit": 5, "action": "Hold"},
                "metrics": [{
                    "name": "errors", "max": 1, "window": "10s", "minSamples": 50,
                    "ratio": {"numerator": "sum(increase(http_requests_total{service=\"{{ service }}\",code=~\"5..\"}[{{ window }}]))",
                              "denominator": "sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))"},
                }],
            },
        });
        if self.run == Run::Hooks {
            let hook = |(name, kind): (&str, &str)| json!({"name": name, "type": kind, "url": format!("https://{RECEIVER}/{name}")});
            spec["hooks"] = HOOKS.into_iter().map(hook).collect();
        }
        if let Some(share) = self.form.share() {
            spec["analysis"]["share"] = share;
        }
        if self.run == Run::Mixed {
            let mobile = json!({"headers": [{"name": "user-agent", "exact": "mobile"}]});
            let mirrors = self.form.can().copy.then(|| json!({"mirror": {}, "iterations": 3}));
            let matches = json!({"matches": [mobile], "iterations": 3});
            let steps = [Some(json!({"progress": "20%"})), mirrors, Some(matches), Some(json!({"progress": "100%"}))];
            spec["strategy"]["steps"] = steps.into_iter().flatten().collect();
        }
        if let (Run::Service, Some(fields)) = (self.run, spec.as_object_mut()) {
            fields.remove("members");
            fields.insert(
                "strategy".to_owned(),
                json!({"bake": "15s", "progressDeadline": "30m", "ramp": {"stepWeights": [20, 60]}}),
            );
        }
        if matches!(self.run, Run::Service | Run::Fleet) && self.form.can().keep_users {
            spec["strategy"]["sessionAffinity"] = json!({"cookieName": "shop"});
        }
        if self.alerts {
            spec["alerts"] = json!([{"name": "team", "providerRef": {"name": "chat"}}]);
        }
        spec
    }
}
