//! `cutover plan`: the weight of every member at every step, without a cluster.

use std::path::PathBuf;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::json;

use super::{CliError, Exit, Format, Output, files};
use crate::{
    api::{Analysis, CANARY, Distribution, Duration, FleetRolloutSpec, Mode, PRIMARY, Steering, status::PlannedStep},
    rollout::{
        declared, initial,
        plan::{Ends, bake, least_time, plan_run, primary_and_canary},
    },
    validate::{Severity, file},
};

/// Show the weights of every member at every step, the gates, and the shortest duration; offline.
///
/// The start is given by `initialWeight`, or --from. In a cluster the hub reads it from the live routes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover plan examples/first-rollout/rollout.yaml
  cutover plan rollout.yaml --from eu-1=60,eu-2=40
  cutover plan rollout.yaml -o json")]
pub(super) struct Plan {
    /// A file or folder with at least one FleetRollout; `-` is the standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The start, instead of `initialWeight`.
    #[arg(long, value_name = "MEMBER=WEIGHT,…", value_delimiter = ',', value_parser = member_weight)]
    from: Vec<(String, u32)>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

fn member_weight(text: &str) -> Result<(String, u32), String> {
    let (member, weight) = text.split_once('=').ok_or("write it as eu-1=50")?;
    Ok((member.to_owned(), weight.parse().map_err(|_| "the weight must be a whole number")?))
}

/// One rollout's plan.
struct Planned<'a> {
    name: &'a str,
    spec: &'a FleetRolloutSpec,
    start: Distribution,
    steps: Vec<PlannedStep>,
}

impl Plan {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        let mut rollouts = Vec::new();
        for source in files::read(std::slice::from_ref(&self.file))? {
            let report = file(&source.text);
            if let Some(error) = report.problems.iter().find(|found| found.problem.severity == Severity::Error) {
                let place = format!("{}:{}", source.name, error.line);
                return Err(CliError::Said(format!(
                    "{place}: {}\n(all mistakes: cutover validate {})",
                    error.problem, source.name
                )));
            }
            rollouts.extend(report.rollouts);
        }
        if rollouts.is_empty() {
            return Err(CliError::Said(format!("{}: contains no FleetRollout", self.file.display())));
        }
        let planned = rollouts.iter().map(|(name, spec)| self.planned(name, spec)).collect::<Result<Vec<_>, _>>()?;
        match self.output {
            Format::Text => planned.iter().try_for_each(|planned| planned.text(out))?,
            Format::Json => match planned.as_slice() {
                [one] => out.json(&one.json())?,
                many => out.json(&many.iter().map(Planned::json).collect::<Vec<_>>())?,
            },
        }
        Ok(Exit::Done)
    }

    fn planned<'a>(&self, name: &'a str, spec: &'a FleetRolloutSpec) -> Result<Planned<'a>, CliError> {
        let planned = |start: Distribution, target: &Distribution| {
            let ends = Ends { start: &start, rollback_to: &start, target };
            // Where nobody gains there is no run.
            let steps = if start.same_as(target) && spec.mode() == Mode::Member {
                Ok(Vec::new())
            } else {
                plan_run(spec, ends, "")
            };
            let steps = steps.map_err(|why| CliError::Said(format!("{name}: {why}")))?;
            Ok(Planned { name, spec, start, steps })
        };
        if spec.mode() == Mode::Service {
            let start = primary_and_canary(0, spec.weight_total);
            return planned(start.clone(), &start);
        }
        let given = (!self.from.is_empty()).then(|| self.from.iter().cloned().collect());
        let start: Distribution = given.or_else(|| initial(spec)).ok_or_else(|| {
            CliError::Said(format!(
                "{name}: the start is not declared; add --from eu-1={}, or set initialWeight in spec.members",
                spec.weight_total
            ))
        })?;
        if let Some(member) = start.members().find(|member| !spec.members.iter().any(|known| known.name == *member)) {
            return Err(CliError::Said(format!(
                "{name}: {member} is not in spec.members; list it, with weight 0 if it leaves"
            )));
        }
        planned(start, &declared(spec))
    }
}

impl Planned<'_> {
    fn json(&self) -> serde_json::Value {
        let step = |step: &PlannedStep| {
            let mut json = json!({
                "stage": step.stage, "progress": step.progress, "weights": step.split.weights, "bake": step.bake,
            });
            if let Some(wait) = step.wait {
                json["wait"] = json!(wait);
            }
            if let Some(steering) = &step.split.steering {
                json["steering"] = json!(steering);
            }
            if let Some(iterations) = step.iterations {
                json["iterations"] = json!(iterations);
            }
            json
        };
        json!({
            "rollout": self.name,
            "start": self.start,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "leastTime": least_time(&self.steps, &self.spec.analysis),
        })
    }

    fn text(&self, out: &mut Output) -> Result<(), CliError> {
        let services: Vec<&str> = self.spec.services.iter().map(|service| service.name.as_str()).collect();
        out.line(format!("{}: {} of {} in total", self.name, services.join(", "), self.spec.weight_total))?;
        if self.steps.is_empty() {
            return out.line("no member gains weight: nothing to do");
        }
        for line in self.table().lines() {
            out.line(line.trim_end())?;
        }
        out.line(format!("least time {}{}", least_time(&self.steps, &self.spec.analysis), self.people()))?;
        let windows: Vec<String> = self.spec.strategy.windows.iter().map(ToString::to_string).collect();
        if !windows.is_empty() {
            out.line(format!("a step begins only if settle and bake end within {}", windows.join(" or ")))?;
        }
        if let Some(session) = &self.spec.strategy.session_affinity {
            out.line(format!("session affinity by the cookie {}", session.cookie_name))?;
        }
        if let Some(keep) = self.spec.strategy.keep_previous {
            out.line(format!("then a rollback stays possible for {keep}, and checks continue"))?;
        }
        if let Some(deadline) = self.spec.strategy.progress_deadline {
            out.line(format!("progress deadline {deadline}, waits not counted"))?;
        }
        Ok(())
    }

    fn people(&self) -> String {
        let promotions =
            self.steps.iter().filter(|step| step.wait == Some(crate::api::strategy::Wait::Promotion)).count();
        match promotions {
            0 => String::new(),
            1 => ", and one promotion by a person".to_owned(),
            many => format!(", and {many} promotions by a person"),
        }
    }

    fn table(&self) -> Table {
        let members = self.members();
        let staged = self.steps.iter().any(|step| !step.stage.is_empty());
        let row = |step: String, stage: &str, progress: String, weights: Vec<String>, gates: String| {
            let stage = staged.then(|| stage.to_owned());
            [step].into_iter().chain(stage).chain([progress]).chain(weights).chain([gates]).collect::<Vec<_>>()
        };
        let weights = |all: &Distribution| members.iter().map(|member| all.weight(member).to_string()).collect();
        let names = members.iter().map(ToString::to_string).collect();
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(row("STEP".to_owned(), "STAGE", "PROGRESS".to_owned(), names, "GATES".to_owned()));
        table.add_row(row("start".to_owned(), "", "0%".to_owned(), weights(&self.start), String::new()));
        table.add_rows(self.steps.iter().zip(1..).map(|(step, number)| {
            let gates = gates(step, &self.spec.analysis);
            row(number.to_string(), &step.stage, progress(step), weights(&step.split.weights), gates)
        }));
        let numbers = if staged { 2 } else { 1 };
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if (numbers..=numbers + members.len()).contains(&i) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// In the order in which they are declared.
    fn members(&self) -> Vec<&str> {
        if self.spec.mode() == Mode::Service {
            return vec![PRIMARY, CANARY];
        }
        self.spec.members.iter().map(|member| member.name.as_str()).collect()
    }
}

/// The progress of the step, or its steering.
fn progress(step: &PlannedStep) -> String {
    match (step.progress, &step.split.steering) {
        (Some(progress), _) => progress.to_string(),
        (None, Some(Steering::Mirrored(_))) => "mirror".to_owned(),
        (None, Some(Steering::Matched(_)) | None) => "matches".to_owned(),
    }
}

fn gates(step: &PlannedStep, analysis: &Analysis) -> String {
    if step.promotes {
        let serves = step.split.weights.weight(PRIMARY) > 0;
        return if serves { "the primary is promoted and has traffic" } else { "the primary has no traffic" }
            .to_owned();
    }
    let wait = step.wait.map(|wait| format!(", wait {wait}")).unwrap_or_default();
    let checks = step.iterations.map(|checks| format!(", {checks} checks")).unwrap_or_default();
    let held = if step.bake == Duration::ZERO { bake(step, analysis) } else { step.bake };
    let tried = step.split.steering.as_ref().map(|steering| {
        let members: Vec<&str> = steering.members().collect();
        format!("; {steering} to {}", members.join(", "))
    });
    format!("settle {}, bake {held}{checks}{wait}{}", analysis.settle, tried.unwrap_or_default())
}
