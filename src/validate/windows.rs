//! Windows: zones that exist, times that differ, and room for every step.

use super::{
    problem::{Problem, quoted},
    suggestion::nearest,
};
use crate::{
    api::{FleetRolloutSpec, Window},
    rollout::{
        plan::longest_window,
        windows::{longest, zone, zones},
    },
};

/// Each window by itself.
pub(super) fn windows(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let windows = spec.strategy.windows.iter().enumerate();
    windows.flat_map(|(i, one)| window(&format!("spec.strategy.windows[{i}]"), one)).collect()
}

fn window(path: &str, window: &Window) -> Vec<Problem> {
    let unknown = zone(&window.time_zone).is_none().then(|| {
        let remedy = nearest(&window.time_zone, zones()).map_or_else(
            || "write a name of the IANA database, such as Europe/Berlin".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        let found = format!("{} is not a time zone", quoted(&window.time_zone));
        Problem::error(format!("{path}.timeZone"), found, remedy)
    });
    let empty = (window.from == window.to).then(|| {
        let found = format!("{} is also the opening time", window.to);
        Problem::error(
            format!("{path}.to"),
            found,
            "choose another closing time; without windows, steps may begin at any time",
        )
    });
    unknown.into_iter().chain(empty).collect()
}

/// A step begins only if settle and bake end inside; one that fits into no window would never begin.
pub(super) fn too_short(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let (strategy, analysis) = (&spec.strategy, &spec.analysis);
    if strategy.windows.is_empty() || !windows(spec).is_empty() {
        return Vec::new();
    }
    let (room, least) = (longest(&strategy.windows), longest_window(analysis).saturating_add(analysis.lag));
    let own = strategy.steps.iter().enumerate().filter_map(|(i, step)| Some((format!("steps[{i}].bake"), step.bake?)));
    let general = strategy.steps.iter().any(|step| step.bake.is_none()).then(|| ("bake".to_owned(), strategy.bake));
    let bakes = general.into_iter().chain(own);
    bakes
        .map(|(path, bake)| (path, analysis.settle.saturating_add(bake.max(least))))
        .filter(|(_, time)| *time > room)
        .map(|(path, time)| {
            let found = format!("a step takes {time} (settle and bake), and no window is open that long");
            let remedy = format!("shorten the bake, or make a window of spec.strategy.windows longer than {room}");
            Problem::error(format!("spec.strategy.{path}"), found, remedy)
        })
        .collect()
}
