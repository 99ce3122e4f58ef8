//! `cutover import … --live` against an API server that has the objects of a file: what adoption would do. The command stands in
//! the file's first line, what is printed beside the file.
//!
//! `UPDATE=1 cargo test --test it import` writes what is printed; read it before it is committed.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use cutover::yaml::documents;
use serde_json::{Value, json};

use crate::{
    bad_environments::{api_server, bare, failure, in_time, kubeconfig},
    command::{printed, root},
};

/// Objects by the path at which they are read.
type World = BTreeMap<String, Value>;

const MEMBERS: &str = "/apis/cutover.dev/v1alpha1/memberclusters";

#[test]
fn what_adoption_would_do_is_said_and_nothing_is_written() {
    let mut wrong = Vec::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let found = rehearsed(&text, &[]);
        let expected = file.with_extension("txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn files() -> Vec<PathBuf> {
    let paths = fs::read_dir(root().join("tests/it/import/live")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    paths.sort();
    paths
}

/// What is printed by the command in the first line, with its exit status; these paths are forbidden.
fn rehearsed(text: &str, forbidden: &'static [&str]) -> String {
    let command = text.lines().next().and_then(|line| line.strip_prefix("# cutover ")).unwrap();
    let world = world(text);
    let requests = Arc::new(Mutex::new(Vec::new()));
    let noted = requests.clone();
    let address = api_server(move |line, _| {
        noted.lock().unwrap().push(line.to_owned());
        let path = line.split([' ', '?']).nth(1)?;
        if forbidden.iter().any(|part| path.contains(part)) {
            return Some(failure(403, "Forbidden", &format!("you may not see {path}"), ""));
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        Some(world.get(path).map_or_else(|| failure(404, "NotFound", "not found", name), |found| (200, found.clone())))
    });
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let words: Vec<&str> = command.split_whitespace().collect();
    let (status, text, said) = printed(&in_time(bare(&words).env("KUBECONFIG", &file)));
    let requests = requests.lock().unwrap();
    assert!(requests.iter().all(|line| line.starts_with("GET ")), "{requests:?}");
    format!("{text}{said}exit status {}\n", status.unwrap())
}

/// The objects of a file; without a MemberCluster the kind is not known.
fn world(text: &str) -> World {
    let mut world = World::new();
    let mut members = Vec::new();
    for object in documents(text).unwrap().into_iter().map(|document| document.value) {
        let kind = object["kind"].as_str().unwrap();
        if kind == "MemberCluster" {
            members.push(object);
            continue;
        }
        let version = object["apiVersion"].as_str().unwrap();
        let api = if version.contains('/') { "apis" } else { "api" };
        let scope = object["metadata"]["namespace"].as_str().map(|namespace| format!("/namespaces/{namespace}"));
        let (scope, name) = (scope.unwrap_or_default(), object["metadata"]["name"].as_str().unwrap());
        world.insert(format!("/{api}/{version}{scope}/{}/{name}", plural(kind)), object.clone());
    }
    if !members.is_empty() {
        let list = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "MemberClusterList", "metadata": {}, "items": members});
        world.insert(MEMBERS.to_owned(), list);
    }
    world
}

fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

#[test]
fn what_is_not_there_and_what_may_not_be_seen_is_said() {
    let none = rehearsed("# cutover import flagger --live orders", &[]);
    assert_eq!(
        none,
        "cutover: no Canary \"orders\" of flagger.app/v1beta1 in namespace shop\n\
         is it the right cluster and namespace? see --context and -n\nexit status 1\n"
    );
    let forbidden = rehearsed("# cutover import kruise --live cart -n shop", &["/rollouts/"]);
    assert_eq!(
        forbidden,
        "cutover: you may not see /apis/rollouts.kruise.io/v1beta1/namespaces/shop/rollouts/cart\nexit status 1\n"
    );
}
