//! The head of `cutover get NAME`: state, users, next step, rollback, run. Pure.

use crate::cli::{
    sentences,
    text::{Page, day_and_clock, escape, wrap},
    view::View,
};

/// Width of the labels.
const INDENT: usize = 12;

pub(super) fn render(view: &View, page: Page) -> String {
    let at = day_and_clock(view.now);
    let hub = view.hub().alarm().map_or_else(|| format!("{at}, {}", view.hub()), |alarm| format!("{alarm}   {at}"));
    let title = format!("{}/{}   {}", view.namespace(), view.name(), sentences::standing(view));
    let mut text = line(&hub, 4, page) + &line(&title, 4, page);
    let has_run = view.live().is_some() || view.lost().is_some();
    let labelled = [
        ("users", has_run.then(|| sentences::users(view))),
        ("step", sentences::progress(view)),
        ("next", Some(sentences::next(view))),
        ("rollback", view.live().map(|_| sentences::rollback(view))),
        ("run", sentences::run(view)),
        ("requests", sentences::requests(view)),
    ];
    for (label, sentence) in labelled {
        if let Some(sentence) = sentence {
            text += &line(&format!("  {label:<10}{sentence}"), INDENT, page);
        }
    }
    text
}

fn line(text: &str, indent: usize, page: Page) -> String {
    format!("{}\n", wrap(&escape(text), page.width, indent))
}
