//! `cutover demo`, as everybody runs it first: what breaks is handled, every share is right, and nothing is left behind.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{LazyLock, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const MIB: u64 = 1024;
/// Requests behind a share at speed 2.
const REQUESTS: u64 = 1000;

/// One run of the demo: its events, its exit status, and the most memory that it and its hub had in mid-run, in KiB.
struct Played {
    events: Vec<Value>,
    status: Option<i32>,
    memory: u64,
    left: Vec<PathBuf>,
}

/// All of them at once: each waits for its hub most of the time.
static PLAYS: LazyLock<Mutex<BTreeMap<&str, JoinHandle<Played>>>> = LazyLock::new(|| {
    let plays = ["errors", "latency", "member", "metrics", "hub"];
    Mutex::new(plays.into_iter().map(|breaks| (breaks, thread::spawn(move || play(breaks)))).collect())
});

fn played(breaks: &str) -> Played {
    let play = PLAYS.lock().unwrap().remove(breaks).unwrap();
    play.join().unwrap()
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.args(["demo", "-o", "json", "--speed", "2"]).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn play(breaks: &str) -> Played {
    let mut demo = start(&["--break", breaks]);
    let (mut events, mut memory) = (Vec::new(), 0);
    for line in BufReader::new(demo.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        // Not at one moment alone: on a busy machine the demo may be over when its last lines are read.
        if event["event"] == "shares" {
            memory = memory.max(family_memory(demo.id()));
        }
        events.push(event);
    }
    let id = demo.id();
    let ended = demo.wait_with_output().unwrap();
    assert!(ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
    Played { events, status: ended.status.code(), memory, left: leftovers(id) }
}

/// What a demo with this process id has left: its folder, and processes that name it.
fn leftovers(id: u32) -> Vec<PathBuf> {
    let folder = std::env::temp_dir().join(format!("cutover-demo-{id}"));
    let name = folder.to_string_lossy().into_owned();
    let names_it = |path: &PathBuf| fs::read_to_string(path.join("cmdline")).is_ok_and(|line| line.contains(&name));
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()).filter(names_it);
    processes.chain([folder].into_iter().filter(|folder| folder.exists())).collect()
}

/// Memory of a process and its children, in KiB; what they share of the program itself is counted once.
fn family_memory(id: u32) -> u64 {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let family = children.split_whitespace().map(|child| child.parse().unwrap()).chain([id]);
    let of = |id: u32, kind: &str| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(kind)).unwrap_or_default().to_owned();
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0_u64)
    };
    family.map(|id| of(id, "RssAnon:")).sum::<u64>() + of(id, "RssFile:")
}

impl Played {
    fn named(&self, name: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == name).collect()
    }

    /// What every story has in common: all shares right by this test's own reckoning, and a clean end.
    fn is_right(&self) -> Vec<(String, u64)> {
        let Self { events, status, memory, left } = self;
        assert_eq!(*status, Some(0), "{events:#?}");
        assert_eq!(events.last().unwrap()["right"], true);
        assert!(left.is_empty(), "{left:?}");
        assert!((1..100 * MIB).contains(memory), "{memory} KiB");
        let stopped = &self.named("declared")[0]["stopped"];
        assert_eq!(stopped["message"], "waiting for hook gate (ConfirmRollout) to say yes: it answered 403");
        assert!(
            stopped["openedBy"].as_str().unwrap().starts_with("cutover hooks open shop --address http://127.0.0.1:")
        );
        let mut canary = Vec::new();
        for event in self.named("shares") {
            for service in event["services"].as_array().unwrap() {
                assert!(service["requests"].as_u64().unwrap() >= REQUESTS, "{event}");
                let members = service["members"].as_array().unwrap();
                assert_eq!(
                    members.iter().map(|member| member["desired"].as_u64().unwrap()).sum::<u64>(),
                    100,
                    "{event}"
                );
                for member in members {
                    assert_eq!(member["desired"], member["applied"], "{event}");
                    let [observed, desired, within] =
                        ["observed", "desired", "within"].map(|name| member[name].as_f64().unwrap());
                    let chance = 4.5 * (desired * (100.0 - desired) / service["requests"].as_f64().unwrap()).sqrt();
                    assert!((within - chance.max(1.0)).abs() < 0.06, "{event}");
                    assert!((observed - desired).abs() <= within, "{event}");
                    if member["member"] == event["canary"] {
                        let name = format!("{} {}", event["canary"].as_str().unwrap(), event["when"].as_str().unwrap());
                        canary.push((name, member["desired"].as_u64().unwrap()));
                    }
                }
            }
        }
        canary
    }

    /// A whole promotion of eu-3, then eu-2, which breaks at 25 %, at once has nothing, and for this reason.
    fn is_rolled_back(&self, reasons: &[&str]) {
        let expected = [
            ("eu-3 before", 0),
            ("eu-3 step 1/4", 5),
            ("eu-3 step 2/4", 25),
            ("eu-3 step 3/4", 50),
            ("eu-3 step 4/4", 100),
            ("eu-2 step 1/4", 5),
            ("eu-2 step 2/4", 25),
            ("eu-2 after", 0),
        ];
        let weights = self.is_right();
        assert_eq!(weights, expected.map(|(when, weight)| (when.to_owned(), weight)));
        let back = self.named("rolledBack");
        assert!(back.len() == 1 && reasons.contains(&back[0]["reason"].as_str().unwrap()), "{back:?}");
        assert!(back[0]["afterSeconds"].as_f64().unwrap() < 20.0, "{back:?}");
    }

    /// A promotion of eu-3 that stands still at 25 % while something is broken, and then goes on.
    fn goes_on(&self) {
        let expected = [
            ("eu-3 before", 0),
            ("eu-3 step 1/4", 5),
            ("eu-3 step 2/4", 25),
            ("eu-3 meanwhile", 25),
            ("eu-3 step 3/4", 50),
            ("eu-3 step 4/4", 100),
        ];
        assert_eq!(self.is_right(), expected.map(|(when, weight)| (when.to_owned(), weight)));
        assert!(self.named("rolledBack").is_empty() && self.named("repaired").len() == 1);
        assert_eq!(self.events.last().unwrap()["failed"], 0, "no request fails for what no member did");
    }
}

#[test]
fn a_canary_with_errors_is_rolled_back() {
    played("errors").is_rolled_back(&["GuardBreached", "ChecksFailed"]);
}

#[test]
fn a_slow_canary_is_rolled_back() {
    played("latency").is_rolled_back(&["ChecksFailed"]);
}

#[test]
fn a_canary_that_is_gone_is_rolled_back() {
    played("member").is_rolled_back(&["EndpointDown"]);
}

#[test]
fn a_run_without_metrics_is_held_until_they_are_back() {
    let played = played("metrics");
    played.goes_on();
    assert_eq!(played.named("held")[0]["reason"], "MetricsUnknown");
}

#[test]
fn a_run_goes_on_with_a_hub_that_was_killed() {
    played("hub").goes_on();
}

/// While the hub is not running somebody gives the new cluster almost everything: the demo counts, and sees it.
#[test]
fn a_share_that_is_wrong_is_reported() {
    let mut demo = start(&["--break", "hub"]);
    let mut last = Value::Null;
    for line in BufReader::new(demo.stdout.take().unwrap()).lines() {
        last = serde_json::from_str(&line.unwrap()).unwrap();
        if last["event"] == "broke" {
            edit_route(demo.id());
        }
    }
    assert_eq!(demo.wait().unwrap().code(), Some(1), "{last}");
    assert_eq!(last["right"], false, "{last}");
    assert!(last["wrong"].as_str().unwrap().contains("but observed"), "{last}");
}

/// Writes other weights to the route, by way of the API server that the demo's kubeconfig names.
fn edit_route(id: u32) {
    let kubeconfig = fs::read(std::env::temp_dir().join(format!("cutover-demo-{id}/kubeconfig"))).unwrap();
    let kubeconfig: Value = serde_json::from_slice(&kubeconfig).unwrap();
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap().strip_prefix("http://").unwrap();
    let route = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/catalog";
    let patch = json!([{"op": "replace", "path": "/spec/rules/0/backendRefs/2/weight", "value": 900}]).to_string();
    let length = patch.len();
    let mut stream = TcpStream::connect(server).unwrap();
    write!(
        stream,
        "PATCH {route} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-type: application/json-patch+json\r\ncontent-length: {length}\r\n\r\n{patch}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// The second step shows the new cluster's weight, nothing moves on, and everything that is printed can be typed.
#[test]
fn a_run_that_is_paused_in_the_middle_can_be_played_with() {
    let mut demo = start(&["--pause-at", "2", "--keep"]);
    let lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let paused = events.find(|event| event["event"] == "paused").unwrap();
    assert_eq!(paused["step"], 2, "{paused}");
    assert_eq!(events.next().unwrap()["right"], true);
    let kept = events.next().unwrap();
    assert_eq!(kept["event"], "kept", "{kept}");
    let kubeconfig = kept["kubeconfig"].as_str().unwrap().to_owned();
    let typed = kept["commands"].as_array().unwrap().iter().filter_map(|command| command["line"].as_str());
    // The first rollout is declared by kubectl, which not every machine has; the lab types that.
    let ours: Vec<&str> = typed.filter(|line| line.starts_with("cutover ") && !line.contains("storefront")).collect();
    assert_eq!(ours.len(), 5, "{kept}");
    for line in ours {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
        let output = command.args(line.split(' ').skip(1)).env("KUBECONFIG", &kubeconfig).output().unwrap();
        let (status, said) = (output.status.code(), String::from_utf8_lossy(&output.stdout));
        // A run that waits is no error: 3.
        let expected = if line.contains(" get ") || line.contains(" why ") { (3, "PAUSED") } else { (0, "Applied") };
        assert!(
            status == Some(expected.0) && said.to_uppercase().contains(&expected.1.to_uppercase()),
            "{line}: {output:?}"
        );
    }
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(0));
}

#[test]
fn a_pause_without_keep_is_refused_with_the_remedy() {
    let refused = start(&["--pause-at", "2"]).wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--keep"), "{refused:?}");
    let last = start(&["--pause-at", "4", "--keep"]).wait_with_output().unwrap();
    assert_eq!(last.status.code(), Some(1), "nothing waits at the last step: {last:?}");
}

#[test]
fn an_interrupted_demo_leaves_nothing() {
    let mut demo = start(&[]);
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("started"));
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    let id = demo.id();
    let ended = demo.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "cutover: interrupted; everything it started has ended\n");
    let since = Instant::now();
    // The system takes a killed process away a moment later.
    while !leftovers(id).is_empty() {
        assert!(since.elapsed() < Duration::from_secs(10), "{:?}", leftovers(id));
        thread::sleep(Duration::from_millis(20));
    }
}
