//! Six scenes that people meet, whole: what `get` and `why` print of each stands in a file beside this one.
//!
//! `CUTOVER_WRITE_SCENES=1 cargo test --lib scenes` writes the files anew; read the difference before it is committed.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::{fixtures, get, history, text::Page, view::View, why};

fn all_three(view: &View, page: Page) -> Vec<(&'static str, String)> {
    both(view, page).into_iter().chain([("cutover history shop -n shop", history::render(view, page))]).collect()
}

/// A name, and what is printed at a width.
type Scene = (&'static str, fn(Page) -> Vec<(&'static str, String)>);

const SCENES: [Scene; 7] = [
    ("in-the-middle", |page| both(&fixtures::in_the_middle(), page)),
    ("silent-hub", |page| both(&fixtures::silent_hub(), page)),
    ("silent-hub-after-direct", |page| both(&fixtures::silent_hub_after_direct(), page)),
    ("held-by-metrics", |page| both(&fixtures::held(), page)),
    ("drift-after-failure", |page| both(&fixtures::drift_after_failure(), page)),
    ("rolled-back", |page| all_three(&fixtures::failed(), page)),
    ("list-of-forty", |page| vec![("cutover get -A", get::list::render(&fixtures::forty(), page))]),
];

fn both(view: &View, page: Page) -> Vec<(&'static str, String)> {
    vec![("cutover get shop -n shop", get::render(view, page)), ("cutover why shop -n shop", why::render(view, page))]
}

fn at(width: usize) -> Page {
    Page { width, wide: false }
}

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/cli/scenes").join(format!("{name}.txt"))
}

#[test]
fn each_scene_reads_at_80_columns_as_it_stands_in_its_file() {
    for (name, scene) in SCENES {
        let printed = |(command, text)| format!("$ {command}\n{text}\n");
        let shown: Vec<String> = scene(at(80)).into_iter().map(printed).collect();
        let shown = shown.concat();
        if std::env::var_os("CUTOVER_WRITE_SCENES").is_some() {
            fs::write(golden(name), &shown).unwrap();
        }
        let expected = fs::read_to_string(golden(name)).unwrap();
        assert!(shown == expected, "{name} is now\n{shown}");
    }
}

/// The words of a text, but not the line about columns for which there is no room.
fn words(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with("no room for"));
    lines.flat_map(str::split_whitespace).collect()
}

/// Of one rollout, `get` says first whether the hub runs, and then the state.
fn headlines(command: &str) -> usize {
    if command.starts_with("cutover get shop") { 2 } else { 1 }
}

#[test]
fn at_every_width_no_line_is_too_long_no_word_is_broken_and_the_headline_comes_first() {
    for (name, scene) in SCENES {
        let whole = scene(at(200));
        for width in 60..=200 {
            for ((command, whole), (_, shown)) in whole.iter().zip(scene(at(width))) {
                let longest = shown.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(longest <= width, "{name} at {width}:\n{shown}");
                let broken: Vec<&str> = words(&shown).difference(&words(whole)).copied().collect();
                assert!(broken.is_empty(), "{name} at {width}: {broken:?}\n{shown}");
                let headline: Vec<&str> =
                    whole.lines().take(headlines(command)).flat_map(str::split_whitespace).collect();
                let first: Vec<&str> = shown.split_whitespace().take(headline.len()).collect();
                assert_eq!(first, headline, "{name} at {width}:\n{shown}");
            }
        }
    }
}
