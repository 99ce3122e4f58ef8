//! The head of `cutover get NAME`: state, users, next step, rollback, run. Pure.

use crate::cli::{
    sentences,
    text::{WIDTH, age, day_and_clock, escape, wrap},
    view::View,
};

/// Width of the labels.
const INDENT: usize = 12;

pub(super) fn render(view: &View) -> String {
    let mut text = format!("{}, {}\n", day_and_clock(view.now), view.hub);
    text.push_str(&line(&title(view), 4));
    let labelled = [
        ("users", view.live().map(|_| sentences::users(view))),
        ("step", sentences::progress(view)),
        ("next", Some(sentences::next(view))),
        ("rollback", view.live().map(|_| sentences::rollback(view))),
        ("run", sentences::run(view)),
    ];
    for (label, sentence) in labelled {
        if let Some(sentence) = sentence {
            text.push_str(&line(&format!("  {label:<10}{}", escape(&sentence)), INDENT));
        }
    }
    text
}

/// `shop/shop   HELD 2h14m at step 2/4   MetricsUnknown: eu-3: no series`.
fn title(view: &View) -> String {
    let status = &view.status;
    let since = status.since.map(|since| format!(" {}", age(since, view.now))).unwrap_or_default();
    let step = view.live().map(|_| format!(" at step {}", status.summary.step)).unwrap_or_default();
    let state = format!("{}/{}   {}{since}{step}", view.namespace(), view.name(), sentences::state(status.phase));
    let behind = view.is_behind().then(|| "the hub has not seen the newest declaration yet".to_owned());
    let why = status.since.map(|_| format!("{}: {}", status.reason, status.message));
    escape(&[Some(state), behind, why].into_iter().flatten().collect::<Vec<_>>().join("   "))
}

fn line(text: &str, indent: usize) -> String {
    format!("{}\n", wrap(text, WIDTH, indent))
}
