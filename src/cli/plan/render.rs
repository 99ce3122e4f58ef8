//! A plan as a table, or step by step where the table would be wider than the terminal. Pure.

use super::Planned;
use crate::{
    api::{
        Analysis, CANARY, Distribution, Duration, Mode, PRIMARY, Steering,
        hook::{Hook, HookType},
        status::PlannedStep,
        strategy::Wait,
    },
    cli::text::{WIDTH, wrap},
    rollout::plan::{bake, least_time},
};

/// Spaces between two columns.
const GAP: usize = 2;
/// The gates need as much room as this in a table.
const LEAST_GATES: usize = 28;
/// What follows the first line of a text is indented by so much.
const INDENT: usize = 4;

/// One row: the step, its stage, its progress, the weights, and its gates.
struct Row {
    step: String,
    stage: String,
    progress: String,
    weights: Vec<String>,
    gates: String,
}

impl Planned<'_> {
    /// The plan in lines of at most `width`. No word is broken.
    pub(super) fn render(&self, width: usize) -> String {
        let services: Vec<&str> = self.spec.services.iter().map(|service| service.name.as_str()).collect();
        let head = format!("{}: {} of {} in total", self.name, services.join(", "), self.spec.weight_total);
        let mut text = wrapped(&head, width, INDENT);
        if self.steps.is_empty() {
            return text + "no member gains weight: nothing to do\n";
        }
        let rows = self.rows();
        text.push_str(&table(&rows, width).unwrap_or_else(|| self.list(&rows, width)));
        self.sentences().iter().for_each(|sentence| text.push_str(&wrapped(sentence, width.min(WIDTH), INDENT)));
        text
    }

    fn sentences(&self) -> Vec<String> {
        let strategy = &self.spec.strategy;
        let windows: Vec<String> = strategy.windows.iter().map(ToString::to_string).collect();
        let windows = (!windows.is_empty())
            .then(|| format!("a step begins only if settle and bake end within {}", windows.join(" or ")));
        let session = strategy.session_affinity.as_ref();
        let keep = strategy.keep_previous;
        let deadline = strategy.progress_deadline;
        [Some(format!("least time {}{}", least_time(&self.steps, &self.spec.analysis), self.people()))]
            .into_iter()
            .chain([
                windows,
                self.hooks(),
                session.map(|session| format!("session affinity by the cookie {}", session.cookie_name)),
                keep.map(|keep| format!("then a rollback stays possible for {keep}, and checks continue")),
                deadline.map(|deadline| format!("progress deadline {deadline}, waits not counted")),
            ])
            .flatten()
            .collect()
    }

    /// The hooks without whose yes a step is not left or taken.
    fn hooks(&self) -> Option<String> {
        let waits =
            |hook: &&Hook| hook.kind.confirms() || matches!(hook.kind, HookType::PreRollout | HookType::Rollout);
        let hooks = self.spec.hooks.iter().filter(waits).filter(|_| !self.spec.skip_analysis);
        let names: Vec<String> = hooks.map(|hook| format!("{} ({:?})", hook.name, hook.kind)).collect();
        (!names.is_empty()).then(|| format!("hooks must say yes, which may take longer: {}", names.join(", ")))
    }

    fn people(&self) -> String {
        match self.steps.iter().filter(|step| step.wait == Some(Wait::Promotion)).count() {
            0 => String::new(),
            1 => ", and one promotion by a person".to_owned(),
            many => format!(", and {many} promotions by a person"),
        }
    }

    /// The header, the start, and every step.
    fn rows(&self) -> Vec<Row> {
        let members = self.members();
        let weights = |all: &Distribution| members.iter().map(|member| all.weight(member).to_string()).collect();
        let header = Row {
            step: "STEP".to_owned(),
            stage: "STAGE".to_owned(),
            progress: "PROGRESS".to_owned(),
            weights: members.iter().map(ToString::to_string).collect(),
            gates: "GATES".to_owned(),
        };
        let start = Row {
            step: "start".to_owned(),
            stage: String::new(),
            progress: "0%".to_owned(),
            weights: weights(&self.start),
            gates: String::new(),
        };
        let steps = self.steps.iter().zip(1..).map(|(step, number)| Row {
            step: number.to_string(),
            stage: step.stage.clone(),
            progress: progress(step),
            weights: weights(&step.split.weights),
            gates: gates(step, &self.spec.analysis),
        });
        [header, start].into_iter().chain(steps).collect()
    }

    /// Step by step; members without weight are left out.
    fn list(&self, rows: &[Row], width: usize) -> String {
        let members = self.members();
        let one = |row: &Row| {
            let stage = if row.stage.is_empty() { String::new() } else { format!(" of stage {}", row.stage) };
            let head = match row.step.as_str() {
                "start" => "start".to_owned(),
                number => format!("step {number}{stage}: {}", row.progress),
            };
            let weights = members.iter().zip(&row.weights).filter(|(_, weight)| *weight != "0");
            let weights: Vec<String> = weights.map(|(member, weight)| format!("{member}={weight}")).collect();
            [head, format!("    {}", weights.join(", ")), format!("    {}", row.gates)]
                .iter()
                .filter(|line| !line.trim().is_empty())
                .map(|line| wrapped(line, width, INDENT))
                .collect::<String>()
        };
        rows.iter().skip(1).map(one).collect()
    }

    /// In the order in which they are declared.
    fn members(&self) -> Vec<&str> {
        if self.spec.mode() == Mode::Service {
            return vec![PRIMARY, CANARY];
        }
        self.spec.members.iter().map(|member| member.name.as_str()).collect()
    }
}

/// The text in lines, with the last line's end.
fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let text = wrap(text, width, indent);
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

/// The rows in columns, if they and the gates have room. The gates may take several lines.
fn table(rows: &[Row], width: usize) -> Option<String> {
    let is_staged = rows.iter().skip(1).any(|row| !row.stage.is_empty());
    let left = |row: &Row| if is_staged { vec![row.step.clone(), row.stage.clone()] } else { vec![row.step.clone()] };
    let right = |row: &Row| [vec![row.progress.clone()], row.weights.clone()].concat();
    let (left, right): (Vec<_>, Vec<_>) = rows.iter().map(|row| (left(row), right(row))).unzip();
    let (left, right) = (aligned(&left, false), aligned(&right, true));
    let before = left.first()?.chars().count() + right.first()?.chars().count();
    let longest = rows.iter().flat_map(|row| row.gates.split(' ')).map(|word| word.chars().count()).max()?;
    if before + longest.max(LEAST_GATES) > width {
        return None;
    }
    let lines = rows
        .iter()
        .zip(left.iter().zip(&right))
        .map(|(row, (left, right))| wrapped(&format!("{left}{right}{}", row.gates), width, before));
    Some(lines.collect())
}

/// Cells in columns, each as wide as its widest cell, with a gap after each.
fn aligned(rows: &[Vec<String>], to_the_right: bool) -> Vec<String> {
    let length = |cell: &String| cell.chars().count();
    let width = |place: usize| rows.iter().filter_map(|row| row.get(place)).map(length).max().unwrap_or(0);
    let cell = |(place, cell): (usize, &String)| {
        let (width, gap) = (width(place), " ".repeat(GAP));
        if to_the_right { format!("{cell:>width$}{gap}") } else { format!("{cell:<width$}{gap}") }
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

/// The progress of the step, or its steering.
fn progress(step: &PlannedStep) -> String {
    match (step.progress, &step.split.steering) {
        (Some(progress), _) => progress.to_string(),
        (None, Some(Steering::Mirrored(_))) => "mirror".to_owned(),
        (None, Some(Steering::Matched(_)) | None) => "matches".to_owned(),
    }
}

/// Whose promotion a step needs, where that is not anybody's.
fn by_whom(step: &PlannedStep) -> String {
    let Some(approval) = step.approval else { return String::new() };
    let people = if approval.min == 1 { "1 person".to_owned() } else { format!("{} people", approval.min) };
    let but = if approval.not_author { ", not its author" } else { "" };
    format!(" by {people}{but}")
}

fn gates(step: &PlannedStep, analysis: &Analysis) -> String {
    if step.promotes {
        let serves = step.split.weights.weight(PRIMARY) > 0;
        return if serves { "the primary is promoted and has traffic" } else { "the primary has no traffic" }
            .to_owned();
    }
    let wait = step.wait.map(|wait| format!(", wait {wait}{}", by_whom(step))).unwrap_or_default();
    let checks = step.iterations.map(|checks| format!(", {checks} checks")).unwrap_or_default();
    let held = if step.bake == Duration::ZERO { bake(step, analysis) } else { step.bake };
    let tried = step.split.steering.as_ref().map(|steering| {
        let members: Vec<&str> = steering.members().collect();
        format!("; {steering} to {}", members.join(", "))
    });
    format!("settle {}, bake {held}{checks}{wait}{}", analysis.settle, tried.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        api::FleetRolloutSpec,
        rollout::{
            declared, initial,
            plan::{Ends, plan_run},
        },
        validate::file,
    };

    /// A rollout of so many members, with long gates.
    fn spec(members: usize) -> FleetRolloutSpec {
        let names: Vec<String> = (2..=members).map(|i| format!("europe-{i}")).collect();
        let gains: Vec<String> = names.iter().map(|name| format!("    - {{name: {name}, weight: 100}}\n")).collect();
        let gains = gains.concat();
        let total = 100 * (members - 1);
        let text = format!(
            "apiVersion: cutover.dev/v1alpha1\nkind: FleetRollout\nmetadata: {{name: shop}}\nspec:\n  \
             services: [{{name: storefront, port: 80, routes: [{{skipper: {{form: RouteGroup, name: shop}}}}]}}]\n  \
             weightTotal: {total}\n  members:\n    - {{name: europe-1, weight: 0, initialWeight: {total}}}\n{gains}  \
             strategy:\n    steps:\n      - {{matches: [{{headers: [{{name: x-canary, exact: yes-please}}]}}], iterations: 5}}\n      \
             - {{progress: 50%, wait: Promotion}}\n      - {{progress: 100%}}\n    windows:\n      \
             - {{days: Mon-Fri, from: '09:00', to: '16:00', timeZone: Europe/Berlin}}\n    keepPrevious: 24h\n  \
             analysis:\n    metrics: [{{name: success, builtin: {{type: RequestSuccessRate, ingress: Skipper}}, min: 99}}]\n"
        );
        let report = file(&text);
        assert_eq!(report.problems, []);
        report.rollouts.into_iter().next().unwrap().1
    }

    fn planned(spec: &FleetRolloutSpec) -> Planned<'_> {
        let (start, target) = (initial(spec).unwrap(), declared(spec));
        let steps = plan_run(spec, Ends { start: &start, rollback_to: &start, target: &target }, "").unwrap();
        Planned { name: "shop", spec, start, steps }
    }

    /// The words of a plan, without what joins them in one of its two forms.
    fn words(text: &str) -> BTreeSet<&str> {
        let words = text.split([' ', '\n', '=']).map(|word| word.trim_end_matches([',', ':']));
        words.filter(|word| !["", "step", "of", "stage"].contains(word)).collect()
    }

    #[test]
    fn hooks_that_must_say_yes_are_gates() {
        let mut spec = spec(2);
        let hook = |kind: &str| serde_json::json!({"name": kind.to_lowercase(), "type": kind, "url": "https://hooks.example.com/"});
        spec.hooks = ["PreRollout", "ConfirmPromotion", "Rollback", "PostRollout", "Event"]
            .map(|kind| serde_json::from_value(hook(kind)).unwrap())
            .into();
        let said =
            "hooks must say yes, which may take longer: prerollout (PreRollout), confirmpromotion (ConfirmPromotion)\n";
        assert!(planned(&spec).render(200).replace("\n    ", " ").contains(said), "{}", planned(&spec).render(200));
        spec.skip_analysis = true;
        assert!(!planned(&spec).render(200).contains("hooks"));
    }

    #[test]
    fn no_line_is_too_long_and_no_word_is_broken() {
        for members in [2, 5, 12, 40] {
            let spec = spec(members);
            let planned = planned(&spec);
            let whole = planned.render(10_000);
            for width in [60, 80, 100, 200] {
                let text = planned.render(width);
                let fits = |line: &str| line.chars().count() <= width && line == line.trim_end();
                assert!(text.lines().all(fits), "{width}\n{text}");
                let broken: Vec<&str> = words(&text).difference(&words(&whole)).copied().collect();
                assert_eq!(broken, [""; 0], "{width}\n{text}");
            }
        }
    }

    #[test]
    fn a_table_that_has_no_room_is_a_list() {
        let spec = spec(12);
        let planned = planned(&spec);
        assert!(planned.render(200).contains("\nSTEP   PROGRESS  europe-1"));
        let list = planned.render(60);
        assert!(list.contains("\nstep 2: 50%\n    europe-1=550, europe-2=50, europe-3=50, europe-4=50,\n"), "{list}");
    }
}
