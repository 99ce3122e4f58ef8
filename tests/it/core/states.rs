//! The states of a run and what leads from one to the next: the diagram in docs/ARCHITECTURE.md.

use std::{collections::BTreeSet, fmt};

use cutover::api::{
    FleetRolloutStatus, Verb,
    status::{Outcome, RunState},
};

use super::world::{World, spec};

/// A state without its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    AtRest,
    Preparing,
    Stepping,
    Promoting,
    Soaking,
    RollingBack,
}

pub type Arrow = (State, State);

impl State {
    const ALL: [Self; 6] =
        [Self::AtRest, Self::Preparing, Self::Stepping, Self::Promoting, Self::Soaking, Self::RollingBack];

    fn of(status: &FleetRolloutStatus) -> Self {
        match status.run.as_ref().map(|run| &run.state) {
            None => Self::AtRest,
            Some(RunState::Preparing(_)) => Self::Preparing,
            Some(RunState::Stepping(_)) => Self::Stepping,
            Some(RunState::Promoting(_)) => Self::Promoting,
            Some(RunState::Soaking(_)) => Self::Soaking,
            Some(RunState::RollingBack(_)) => Self::RollingBack,
        }
    }

    /// Where a decision may lead from here, and what leads there.
    fn next(self) -> &'static [(Self, &'static str)] {
        match self {
            Self::AtRest => &[(Self::Preparing, "another target is declared")],
            Self::Preparing => &[
                (Self::Stepping, "everything is ready"),
                (Self::Promoting, "without analysis"),
                (Self::Preparing, "another target"),
                (Self::RollingBack, "abort, the deadline, deletion"),
                (Self::AtRest, "adopt"),
            ],
            Self::Stepping => &[
                (Self::Stepping, "the step passed, or is taken back"),
                (Self::Preparing, "another target, or the first step is taken back"),
                (Self::Promoting, "service mode: the canary passed"),
                (Self::Soaking, "the last step passed, keepPrevious"),
                (Self::AtRest, "the last step passed, or adopt"),
                (Self::RollingBack, "a verdict, a person, deletion"),
            ],
            Self::Promoting => &[
                (Self::Promoting, "the primary is what passed"),
                (Self::Stepping, "the primary keeps its traffic, for a route does not show the step"),
                (Self::AtRest, "the primary has its traffic back"),
                (Self::RollingBack, "deletion"),
            ],
            Self::Soaking => &[
                (Self::Stepping, "the last step is taken back"),
                (Self::AtRest, "keepPrevious is over, or adopt"),
                (Self::Preparing, "another target"),
                (Self::RollingBack, "a verdict, a person, deletion"),
            ],
            Self::RollingBack => &[(Self::AtRest, "every route confirms the rollback target")],
        }
    }
}

/// As Mermaid names it: `[*]` where there is no run.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtRest => "[*]",
            Self::Preparing => "preparing",
            Self::Stepping => "stepping",
            Self::Promoting => "promoting",
            Self::Soaking => "soaking",
            Self::RollingBack => "rollingBack",
        })
    }
}

/// Every arrow of the diagram.
pub fn drawn() -> BTreeSet<Arrow> {
    State::ALL.into_iter().flat_map(|from| from.next().iter().map(move |(to, _)| (from, *to))).collect()
}

/// The changes of state between two statuses, by the runs that ended in between.
pub fn arrows(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> Vec<Arrow> {
    let (from, to) = (State::of(before), State::of(after));
    if before.last_run() > after.last_run() {
        return Vec::new(); // an old status was restored
    }
    let ended = after.history.last().filter(|ended| before.run.as_ref().is_some_and(|run| run.number == ended.number));
    let step = |status: &FleetRolloutStatus| status.run.as_ref().map(cutover::api::status::Run::step);
    let mut path = vec![from];
    match ended.map(|ended| ended.outcome) {
        Some(Outcome::Failed | Outcome::RolledBack) => path.extend([State::RollingBack, State::AtRest]),
        Some(Outcome::Superseded) if to == State::Preparing && from != State::RollingBack => {}
        Some(Outcome::Succeeded | Outcome::Superseded) => path.push(State::AtRest),
        None => {}
    }
    let begun = after.last_run() > before.last_run();
    if begun && !matches!(to, State::Preparing | State::AtRest) {
        path.push(State::Preparing); // a run that needs nothing prepared leaves it in the pass that begins it
    }
    path.push(to);
    let stands = |(one, other): &(State, State)| {
        one == other && (ended.is_none() && step(before) == step(after) || *one != from)
    };
    let pairs = path.iter().copied().zip(path.iter().copied().skip(1));
    pairs
        .filter(|pair| !stands(pair))
        .filter(|(one, other)| one != other || *one != State::RollingBack && *one != State::AtRest)
        .collect()
}

/// What happens without analysis, which the search always has: a promotion at once.
pub fn arrows_without_analysis() -> BTreeSet<Arrow> {
    const RAMP: &str = "strategy: {bake: 20s, ramp: {stepWeights: [20, 50], stepWeightPromotion: 50}}";
    let mut taken = BTreeSet::new();
    let mut world = World::new(spec(&format!("{RAMP}\nskipAnalysis: true")), &[("primary", 100)]);
    world.point("eu-1.example.com").run_for(20);
    world.point("eu-3.example.com");
    for _ in 0..60 {
        let before = world.status.clone();
        world.probe();
        world.pass();
        taken.extend(arrows(&before, &world.status));
        world.after(1);
    }
    assert_eq!(world.outcome(), Some(Outcome::Succeeded), "{}", world.status.message);
    taken
}

/// What is adopted while the declaration breaks a rule, so that no other run begins.
pub fn arrows_of_an_adoption() -> BTreeSet<Arrow> {
    let yaml = "members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]\nstrategy: {steps: [{progress: 100%}]}";
    let mut world = World::new(spec(yaml), &[("eu-1", 100)]);
    world.pass();
    world.invalid = true;
    let before = world.status.clone();
    world.ask(Verb::Adopt).pass();
    let taken = arrows(&before, &world.status);
    assert_eq!(taken, [(State::Preparing, State::AtRest)]);
    taken.into_iter().collect()
}

fn diagram() -> String {
    let arrows = State::ALL.into_iter().flat_map(|from| {
        from.next().iter().map(move |(to, why)| format!("    {from} --> {to}: {}\n", why.replace(':', ",")))
    });
    format!("```mermaid\nstateDiagram-v2\n{}```\n", arrows.collect::<String>())
}

#[test]
fn the_diagram_in_the_architecture_page_is_that_of_the_states() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ARCHITECTURE.md")).unwrap();
    assert!(page.contains(&diagram()), "docs/ARCHITECTURE.md needs this diagram:\n{}", diagram());
}
