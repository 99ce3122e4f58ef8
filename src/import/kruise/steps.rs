//! The steps: a share of the traffic or requests that match, and a pause.

use serde_json::Value;

use super::matches::matches;
use crate::{
    api::{
        Duration,
        strategy::{Step, Wait},
    },
    import::{
        fields::Fields,
        remarks::{Remarks, shown},
        steps::{Steps, wait_of},
    },
};

/// How Kruise Rollouts runs new Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Beside the old ones.
    Canary,
    /// All of them before traffic moves.
    BlueGreen,
}

/// Steps that are being read.
pub(super) struct Reading {
    style: Style,
    is_ingress: bool,
    steps: Steps,
    replicas: bool,
}

impl Reading {
    pub(super) fn new(style: Style, is_ingress: bool) -> Self {
        Self { style, is_ingress, steps: Steps::default(), replicas: false }
    }

    /// Reads `steps`; all traffic is the last one.
    pub(super) fn steps(mut self, fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Vec<Step>> {
        let list = fields.of().document.value.pointer(&format!("/{}/steps", fields.path().replace('.', "/")));
        let count = list.and_then(Value::as_array).map_or(0, Vec::len);
        let mut number = 0;
        fields.each("steps", remarks, |fields, remarks| {
            number += 1;
            self.step(fields, number == count, remarks);
        });
        if self.replicas {
            remarks.lose(format!("{}.steps[].replicas", fields.path()), "it is about Pods, which are yours");
        }
        if self.style == Style::BlueGreen {
            remarks.lose(fields.path(), "let all Pods of the new version run before you change the Service");
        }
        self.steps.ended()
    }

    fn step(&mut self, fields: &mut Fields<'_>, is_last: bool, remarks: &mut Remarks) {
        let at = fields.at("pause");
        let traffic = share(fields, remarks);
        let given = matches(fields, self.is_ingress, remarks);
        let replicas = fields.any("replicas");
        self.replicas |= replicas.is_some();
        fields.lose(&["requestHeaderModifier"], "a step changes no headers; let the route do it", remarks);
        // Kruise Rollouts takes a share as the part of the Pods, where none is given.
        let is_whole = replicas.as_ref().map_or(traffic == Some(100), |replicas| replicas == "100%");
        match (given.is_empty(), traffic) {
            (false, _) => self.steps.steer(Step { matches: given, ..Step::default() }),
            (true, Some(share)) => self.steps.weight(share, 100, fields, "traffic", remarks),
            (true, None) => {}
        }
        let wait = match fields.block("pause", remarks, wait_of) {
            Some(wait) => wait,
            // A person goes on where no pause is given, except after everything.
            None => Some(Wait::Promotion).filter(|_| !(is_last && is_whole)),
        };
        if let Some(wait) = wait.filter(|wait| *wait != Wait::For(Duration::ZERO)) {
            self.steps.wait(wait, &at, remarks);
        }
    }
}

/// A share in percent: `traffic: 20%`, or `weight: 20` as it was once written.
fn share(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<i64> {
    let weight = fields.take::<i64>("weight", remarks);
    let Some(text) = fields.take::<String>("traffic", remarks) else { return weight };
    let share = text.strip_suffix('%').and_then(|number| number.parse::<i64>().ok());
    if share.is_none() {
        fields.refuse("traffic", format!("{:?} is not a percentage", shown(&text)), "write one such as 20%", remarks);
    }
    share
}
