//! What was done, in words for people.

use cutover::sandbox::api::Change;
use serde_json::Value;

use super::{
    super::{status::Status, world::World},
    Judge,
};

impl Judge {
    pub(super) fn tell(&mut self, world: &World, change: &Change) {
        if ["leases", "customresourcedefinitions", "secrets", "namespaces"].contains(&change.plural.as_str()) {
            return;
        }
        let Change { verb, plural, name, author, revision, .. } = change;
        let what = match (plural.as_str(), &change.after) {
            (plural, Some(after)) if plural == self.form.plural() => {
                let route = self.form.route_of(name);
                let weights = self.stored.of(&change.namespace, route).map(|objects| self.form.weights(&objects));
                let mark = after["metadata"]["annotations"]["cutover.dev/write"].as_str().unwrap_or("");
                let mark = mark.splitn(3, '/').last().unwrap_or_default();
                format!("{:?} gen {} mark {mark}", weights.unwrap_or_default(), after["metadata"]["generation"])
            }
            ("fleetrollouts", Some(after)) => {
                format!("gen {} {}", after["metadata"]["generation"], summary(&Status::of(after)))
            }
            ("events", Some(after)) => format!("{} {}", after["reason"], after["note"]),
            ("rolloutrequests", Some(after)) => format!("{} {}", after["spec"]["verb"], after["status"]),
            _ => String::new(),
        };
        let sub = author.subresource.as_deref().unwrap_or_default();
        self.story.push(format!(
            "{:9.3}  {revision} {verb:?} {plural}/{name} {sub} by {} {what}",
            world.age(),
            author.manager
        ));
    }

    pub(super) fn break_rule(&mut self, world: &World, rule: String) {
        let line = format!("{:9.3}  BROKEN {rule}", world.age());
        self.story.push(line);
        self.broken.push(rule);
    }
}

fn summary(status: &Status) -> String {
    let text = |name: &str| status.field(name).as_str().unwrap_or("-").to_owned();
    format!(
        "{} {} step {} desired {} conf {} seq {} leader {} rollback {} check {} hold {} prim {}",
        text("phase"),
        text("reason"),
        Value::from(status.step()),
        status.desired()["split"]["weights"],
        status.desired()["confirmedAt"],
        status.field("sequence"),
        text("leader"),
        status.rollback_reason(),
        status.verdict(),
        status.hold_reason(),
        status.field("primary")
    )
}
