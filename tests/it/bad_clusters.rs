//! What a verb says of the hub cluster and its kubeconfig; the words are written by hand.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::{
    bad_environments::{api_server, bare, failure, in_time, kubeconfig},
    command::printed,
};

/// The exit status and the error of a verb against an API server with these answers.
fn said(
    words: &[&str],
    answer: impl Fn(&str, &str) -> Option<(u16, Value)> + Send + Sync + 'static,
) -> (Option<i32>, String) {
    let address = api_server(answer);
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let (status, _, said) = printed(&in_time(bare(words).env("KUBECONFIG", &file)));
    (status, said.replace(&address.to_string(), "SERVER"))
}

/// An API server with these rollouts in namespace shop, and no other.
fn with_rollouts(names: &'static [&'static str]) -> impl Fn(&str, &str) -> Option<(u16, Value)> + Send + Sync {
    move |line, _| {
        let path = line.split([' ', '?']).nth(1).unwrap();
        let all = "/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts";
        if path == all {
            let items: Vec<Value> = names
                .iter()
                .map(|name| json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": name}}))
                .collect();
            let list = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": items});
            return Some((200, list));
        }
        let name = path.strip_prefix(all)?.trim_start_matches('/').to_owned();
        Some(failure(404, "NotFound", "<html>not repeated</html>", &name))
    }
}

#[test]
fn a_name_that_no_rollout_has_is_answered_with_those_that_there_are() {
    for (words, names, expected) in [
        (&["get", "shpo"][..], &["shop", "checkout"][..], "no rollout \"shpo\" in namespace shop\ndid you mean shop?"),
        (&["why", "fr/shpo"], &["shop"], "no rollout \"shpo\" in namespace shop\ndid you mean shop?"),
        (&["abort", "zzz"], &["shop", "checkout"], "no rollout \"zzz\" in namespace shop\nthere are: shop, checkout"),
        (
            &["get", "shop"],
            &[],
            "no rollout \"shop\" in namespace shop\nthe namespace has no rollouts; choose another with -n, or list all: cutover get -A",
        ),
    ] {
        assert_eq!(said(words, with_rollouts(names)), (Some(1), format!("cutover: {expected}\n")), "{words:?}");
    }
}

#[test]
fn a_namespace_without_rollouts_says_so() {
    let address = api_server(with_rollouts(&[]));
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let (status, text, _) = printed(&in_time(bare(&["get"]).env("KUBECONFIG", &file)));
    assert_eq!((status, text.as_str()), (Some(0), "no rollouts in namespace shop; all namespaces: cutover get -A\n"));
}

#[test]
fn no_answer_of_anybody_is_repeated() {
    let page = || json!("<html>password: s3cret</html>");
    for (code, expected) in [
        (
            502,
            "http://SERVER/ answered 502 and not as an API server does\nis it the right cluster, or a proxy or login page? see --context and --kubeconfig",
        ),
        (
            200,
            "http://SERVER/ answered with not as an API server does\nis it the right cluster, or a proxy or login page? see --context and --kubeconfig",
        ),
    ] {
        let answer = said(&["get", "shop"], move |_, _| Some((code, page())));
        assert_eq!(answer, (Some(1), format!("cutover: {expected}\n")), "{code}");
    }
    let answer = said(&["get", "shop"], |_, _| Some(failure(503, "ServiceUnavailable", "s3cret", "")));
    let expected = "cutover: the API server http://SERVER/ is not able to answer now (503)\ntry again in a minute\n";
    assert_eq!(answer, (Some(1), expected.to_owned()));
}

#[test]
fn a_kubeconfig_that_is_wrong_is_named_and_its_contexts_are_listed() {
    let (folder, file) = kubeconfig("http://127.0.0.1:1");
    let missing = folder.path().join("missing").display().to_string();
    let nonsense = folder.path().join("nonsense");
    std::fs::write(&nonsense, "users: [s3cret").unwrap();
    let (file, nonsense) = (file.display().to_string(), nonsense.display().to_string());
    let remedy = "set KUBECONFIG, or give --kubeconfig FILE";
    for (words, from, expected) in [
        (&["get"][..], missing.as_str(), format!("kubeconfig {missing} does not exist\n{remedy}")),
        (&["get", "--kubeconfig", &missing], &file, format!("kubeconfig {missing} does not exist\n{remedy}")),
        (&["get"], &nonsense, format!("your kubeconfig is not readable as YAML; see kubectl config view\n{remedy}")),
        (&["get", "--context", "prod"], &file, "your kubeconfig has no context \"prod\"\nthere are: hub".to_owned()),
        (
            &["get", "--context", "hubb"],
            &file,
            "your kubeconfig has no context \"hubb\"\ndid you mean hub? there are: hub".to_owned(),
        ),
    ] {
        let (status, _, said) = printed(&in_time(bare(words).env("KUBECONFIG", from)));
        assert_eq!((status, said), (Some(1), format!("cutover: {expected}\n")), "{words:?}");
    }
    let (status, _, said) = printed(&in_time(bare(&["get"]).env("HOME", "/nowhere")));
    assert_eq!(status, Some(1), "neither a kubeconfig, nor a pod");
    assert_eq!(said, format!("cutover: kubeconfig /nowhere/.kube/config does not exist\n{remedy}\n"));
}

#[test]
fn the_flags_of_kubectl_are_known() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    let address = api_server(move |line, _| {
        seen.lock().unwrap().push(line.to_owned());
        Some((200, json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []})))
    });
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let file = file.display().to_string();
    for words in [
        &["get", "--kubeconfig", &file, "--context", "hub", "-n", "other", "--as", "ada", "--request-timeout", "3"][..],
        &["get", "--kubeconfig", &file, "-A"],
    ] {
        let (status, _, said) = printed(&in_time(&mut bare(words)));
        assert_eq!((status, said.as_str()), (Some(0), ""), "{words:?}");
    }
    let lines = lines.lock().unwrap();
    let lists: Vec<&String> = lines.iter().filter(|line| line.contains("/fleetrollouts?")).collect();
    assert!(lists[0].contains("/namespaces/other/fleetrollouts") && lists[0].ends_with(" as ada"), "{lines:?}");
    assert!(lists[1].contains("v1alpha1/fleetrollouts") && !lists[1].contains(" as "), "{lines:?}");
}

#[test]
fn the_version_is_that_of_the_command_and_of_the_hub() {
    let hub = json!({"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {}, "items": [
        {"metadata": {"name": "cutover-hub"}, "spec": {"selector": {}, "template": {"spec": {"containers": [
            {"name": "hub", "image": "registry.example.com/cutover:0.2.0"}]}}}}]});
    let address = api_server(move |_, _| Some((200, hub.clone())));
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let client = env!("CARGO_PKG_VERSION");
    let (status, text, _) = printed(&in_time(bare(&["version"]).env("KUBECONFIG", &file)));
    assert_eq!((status, text), (Some(0), format!("client   {client}\nhub      registry.example.com/cutover:0.2.0\n")));
    let (status, text, _) = printed(&in_time(&mut bare(&["version", "--client"])));
    assert_eq!((status, text), (Some(0), format!("client   {client}\n")));
    let (status, text, _) = printed(&in_time(bare(&["version"]).env("HOME", "/nowhere")));
    let expected = format!("client   {client}\nhub      not known: kubeconfig /nowhere/.kube/config does not exist\n");
    assert_eq!((status, text), (Some(0), expected));
}

/// What a shell is given for the last of these words.
fn completed(file: &str, words: &[&str]) -> Vec<String> {
    let mut command = bare(&[&["--", "cutover"][..], words].concat());
    let place = words.len().to_string();
    command
        .env("CUTOVER_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", place)
        .env("_CLAP_IFS", "\n")
        .env("KUBECONFIG", file);
    let (status, text, said) = printed(&in_time(&mut command));
    assert_eq!((status, said.as_str()), (Some(0), ""), "{words:?}");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_rollouts_and_contexts_and_is_silent_about_errors() {
    let address = api_server(with_rollouts(&["shop", "checkout", "shipping"]));
    let (folder, file) = kubeconfig(&format!("http://{address}"));
    let file = file.display().to_string();
    assert_eq!(completed(&file, &["get", "sh"]), ["shop", "shipping"]);
    assert_eq!(completed(&file, &["abort", "-n", "shop", "c"]), ["checkout"]);
    assert_eq!(completed(&file, &["get", "--context", "h"]), ["hub"]);
    let hangs = api_server(|_, _| None);
    for server in ["127.0.0.1:1".to_owned(), hangs.to_string()] {
        let (_folder, file) = kubeconfig(&format!("http://{server}"));
        assert_eq!(completed(&file.display().to_string(), &["get", "sh"]), [""; 0], "{server}");
    }
    assert_eq!(completed(&folder.path().join("missing").display().to_string(), &["why", "sh"]), [""; 0]);
}

#[test]
fn a_shell_completes_members_and_namespaces() {
    let list = |names: [&str; 3]| {
        let items = names.map(
            |name| json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": name}}),
        );
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": items})
    };
    let address = api_server(move |line, _| match line.split([' ', '?']).nth(1)? {
        "/apis/cutover.dev/v1alpha1/memberclusters" => Some((200, list(["eu-1", "eu-2", "us-1"]))),
        "/api/v1/namespaces" => Some((200, list(["shop", "search", "billing"]))),
        _ => Some((404, json!({}))),
    });
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let file = file.display().to_string();
    assert_eq!(completed(&file, &["member", "kubeconfig", "eu"]), ["eu-1", "eu-2"]);
    assert_eq!(completed(&file, &["get", "-n", "s"]), ["shop", "search"]);
}
