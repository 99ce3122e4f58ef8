//! `cutover plan`: the weight of every member at every step, without a cluster.

mod render;

use std::path::PathBuf;

use serde_json::json;

use super::{
    CliError, Exit, Format, Output, files,
    text::{WIDTH, wrap},
};
use crate::{
    api::{Distribution, FleetRolloutSpec, Mode, status::PlannedStep},
    rollout::{
        declared, initial,
        plan::{Ends, least_time, plan_run, primary_and_canary},
    },
    validate::{self, Report, Severity},
};

/// Show the weights of every member at every step, the gates, and the shortest duration; offline.
///
/// The start is given by `initialWeight`, or --from. In a cluster the hub reads it from the live routes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover plan examples/first-rollout/rollout.yaml
  cutover plan rollout.yaml --from eu-1=60,eu-2=40
  cutover plan rollout.yaml -o json

Exit status: 0 there is a plan, 1 an error, or a mistake in a file.")]
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
        let reports = self.read()?;
        let rollouts = reports.iter().flat_map(|(_, report)| &report.rollouts);
        let planned = rollouts.map(|(name, spec)| self.planned(name, spec)).collect::<Result<Vec<_>, _>>()?;
        if planned.is_empty() {
            return Err(CliError::Said(format!("{}: contains no FleetRollout", self.file.display())));
        }
        match self.output {
            Format::Text => {
                planned.iter().try_for_each(|planned| out.text(&planned.render(out.width())))?;
                doubts(&reports, out)?;
            }
            Format::Json => match planned.as_slice() {
                [one] => out.json(&one.json())?,
                many => out.json(&many.iter().map(Planned::json).collect::<Vec<_>>())?,
            },
        }
        Ok(Exit::Done)
    }

    /// What the files hold; the first mistake ends it.
    fn read(&self) -> Result<Vec<(String, Report)>, CliError> {
        let sources = files::read(std::slice::from_ref(&self.file)).into_iter().map(files::Source::required);
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let reports = validate::files(sources.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        for ((name, _), report) in sources.iter().zip(&reports) {
            if let Some(error) = report.problems.iter().find(|found| found.problem.severity == Severity::Error) {
                let place = format!("{name}:{}", error.line);
                return Err(CliError::Said(format!(
                    "{place}: {}\n(all mistakes: cutover validate {name})",
                    error.problem
                )));
            }
        }
        Ok(sources.into_iter().map(|(name, _)| name).zip(reports).collect())
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
            if let Some(approval) = step.approval {
                json["approval"] = json!(approval);
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
}

/// Warnings and hints, below the plans.
fn doubts(reports: &[(String, Report)], out: &mut Output) -> Result<(), CliError> {
    for (file, report) in reports {
        for found in report.problems.iter().chain(&report.hints) {
            out.line(wrap(&format!("{file}:{}: {}", found.line, found.problem), out.width().min(WIDTH), 4))?;
        }
    }
    Ok(())
}
