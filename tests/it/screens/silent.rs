//! What is said while the hub is silent, and after somebody has helped himself.

use super::{World, route, rule};
use serde_json::json;

const ALARM: &str = "HUB SILENT for ";

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_says_first_that_the_hub_is_silent() {
    let world = World::start().await;
    world.patch(&super::lease(), &json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})).await;
    for (arguments, status) in [
        (&["get", "shop"][..], 3),
        (&["why", "shop"], 3),
        (&["get"], 0),
        (&["wait", "shop", "--for=phase=Succeeded", "--timeout", "1s"], 3),
        (&["history", "shop"], 0),
        (&["abort", "shop", "--timeout", "1s"], 4),
    ] {
        let (ended, shown) = world.cutover(arguments).await;
        assert!(shown.starts_with(ALARM), "{arguments:?}\n{shown}");
        assert_eq!(ended, status, "{arguments:?}\n{shown}");
    }
    let (_, shown) = world.cutover(&["abort", "shop", "--timeout", "1s"]).await;
    assert!(shown.ends_with("\nnow: cutover abort shop -n shop --direct\n"), "{shown}");
    let (_, shown) = world.cutover(&["get", "shop"]).await;
    assert!(shown.contains("  requests  not answered yet: Abort by "), "{shown}");
    let (ended, _) = world.cutover(&["get", "shop", "-o", "json"]).await;
    assert_eq!(ended, 3, "the exit status does not depend on the format");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_abort_without_the_hub_get_shows_what_the_routes_hold() {
    let world = World::start().await;
    world.patch(&super::lease(), &json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})).await;
    let (ended, said) = world.cutover(&["abort", "shop", "--direct"]).await;
    assert_eq!(ended, 0, "{said}");
    let (_, shown) = world.cutover(&["get", "shop"]).await;
    assert!(shown.contains("DONE BY HAND: every route shows eu-1 50 %, eu-2 50 %"), "{shown}");
    let row = shown.lines().find(|line| line.contains("─ eu-3 ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().skip(2).take(4).collect();
    assert_eq!(cells, ["eu-3", "canary", "10", "0"], "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_live_route_is_in_the_headline() {
    let world = World::start().await;
    let (_, shown) = world.cutover(&["get", "shop"]).await;
    assert!(!shown.contains("DRIFTED"), "{shown}");
    world.patch(&route(), &json!({"spec": {"rules": [rule(&[10, 50, 40])]}})).await;
    let (_, shown) = world.cutover(&["get", "shop"]).await;
    let title = shown.replace("\n    ", " ");
    let title = title.lines().nth(1).unwrap();
    assert!(title.contains("DRIFTED   HTTPRoute/public (storefront) shows eu-1 10 %, eu-2 50 %, eu-3 40 %"), "{shown}");
}
