//! `get --watch` on a terminal.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::json;

use super::{
    World, eventually,
    terminal::{ENTER, LEAVE, Terminal},
};

/// Waits for a picture that begins so.
async fn begins(terminal: &mut Terminal, start: &str) -> Vec<String> {
    eventually(async || {
        let picture = terminal.picture();
        let found = picture.first().is_some_and(|line| line.contains(start));
        if found { Ok(picture) } else { Err(format!("no {start:?} in\n{}", terminal.all())) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn ages_run_without_a_change_until_the_hub_is_silent_and_the_terminal_comes_back_as_it_was() {
    let world = World::start().await;
    world.renew(SignedDuration::from_secs(4)).await;
    let mut terminal = Terminal::start(world.command(&["get", "shop", "--watch"]), 80, 40);
    begins(&mut terminal, "hub active ").await;
    // Whatever the machine has to do: each picture has the time at which it was drawn.
    let mut drawn = BTreeSet::new();
    eventually(async || {
        drawn.extend(terminal.picture().into_iter().next());
        if drawn.len() >= 3 { Ok(()) } else { Err(format!("{drawn:?}")) }
    })
    .await;
    let picture = begins(&mut terminal, "HUB SILENT for ").await;
    assert!(picture.iter().any(|line| line.contains("last known PROGRESSING")), "{picture:#?}");
    let (status, same) = terminal.interrupt().await;
    assert_eq!((status, same), (Some(3), true));
    let all = eventually(async || {
        let all = terminal.all().to_owned();
        if all.ends_with(LEAVE) { Ok(all) } else { Err(all) }
    })
    .await;
    assert!(all.starts_with(ENTER) && all.matches(ENTER).count() == 1, "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_becomes_small_keeps_the_headline_and_breaks_no_word() {
    let world = World::start().await;
    let mut terminal = Terminal::start(world.command(&["get", "shop", "--watch"]), 120, 40);
    let large = begins(&mut terminal, "UTC").await;
    assert!(large.iter().any(|line| line.starts_with("more: cutover why shop")), "{large:#?}");
    terminal.resize(60, 8);
    let small = eventually(async || {
        let picture = terminal.picture();
        if picture.len() == 8 { Ok(picture) } else { Err(format!("{picture:#?}")) }
    })
    .await;
    assert!(small.iter().all(|line| line.chars().count() <= 60), "{small:#?}");
    assert!(small.iter().any(|line| line.starts_with("shop/shop   ")), "{small:#?}");
    assert!(small[7].ends_with(" more lines"), "{small:#?}");
    terminal.interrupt().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_as_wide_as_the_terminal() {
    let world = World::start().await;
    for columns in [60, 120] {
        let mut terminal = Terminal::start(world.command(&["why", "shop"]), columns, 24);
        let text = eventually(async || {
            let all = terminal.all().replace('\r', "");
            if all.contains("\nexit status ") { Ok(all) } else { Err(all) }
        })
        .await;
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        let columns = usize::from(columns);
        assert!(widest <= columns && widest > columns - 20, "{widest} of {columns}:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_watched_as_well() {
    let world = World::start().await;
    world.renew(SignedDuration::from_secs(4)).await;
    let mut terminal = Terminal::start(world.command(&["get", "--watch"]), 80, 24);
    let picture = begins(&mut terminal, "hub active").await;
    assert!(picture.iter().any(|line| line.starts_with("shop  Progressing")), "{picture:#?}");
    begins(&mut terminal, "HUB SILENT for ").await;
    assert_eq!(terminal.interrupt().await.0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_is_not_there_is_an_error_and_the_terminal_comes_back() {
    let world = World::start().await;
    let (status, said) = world.cutover(&["get", "none", "--watch"]).await;
    assert_eq!((status, said.as_str()), (1, "cutover: fleetrollout none does not exist (any more)\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_states_are_in_colour_on_a_terminal_alone_and_not_against_the_users_will() {
    const RED: &str = "\u{1b}[31mHUB SILENT\u{1b}[0m";
    let world = World::start().await;
    world.patch(&super::lease(), &json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})).await;
    for (no_colour, expected) in [("", RED), ("1", "HUB SILENT")] {
        let mut command = world.command(&["get", "shop"]);
        command.env("NO_COLOR", no_colour);
        let mut terminal = Terminal::start(command, 80, 24);
        eventually(async || {
            let shown = terminal.all();
            if shown.starts_with(&format!("{expected} for ")) { Ok(()) } else { Err(format!("{shown:?}")) }
        })
        .await;
    }
    let mut command = world.command(&["get", "shop"]);
    let output = command.env_remove("NO_COLOR").output().unwrap();
    assert!(output.stdout.starts_with(b"HUB SILENT for "), "{}", String::from_utf8_lossy(&output.stdout));
}
