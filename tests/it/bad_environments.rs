//! Places in which the command cannot work, or must work all the same; the words are written by hand.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{printed, root};

/// A person waits this long at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// A command with nothing from this environment but what a case gives it.
pub(crate) fn bare(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.args(arguments).env_clear().current_dir("/");
    command
}

pub(crate) fn in_time(command: &mut Command) -> Output {
    let began = Instant::now();
    let output = command.output().unwrap();
    assert!(began.elapsed() < PATIENCE + Duration::from_secs(1), "{:?}", began.elapsed());
    output
}

/// A folder with a kubeconfig for an API server at this address.
pub(crate) fn kubeconfig(server: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "me", "namespace": "shop"}}],
    });
    std::fs::write(&file, config.to_string()).unwrap();
    (folder, file)
}

/// An API server that answers each request's line and body with a status and an object; `None` never answers.
pub(crate) fn api_server(answer: impl Fn(&str, &str) -> Option<(u16, Value)> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                while let Some((line, body)) = request(&mut reader) {
                    let Some((status, object)) = answer(&line, &body) else {
                        std::thread::sleep(Duration::from_mins(1));
                        return;
                    };
                    let text = object.to_string();
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n");
                    let whole = format!("{head}content-length: {}\r\n\r\n{text}", text.len());
                    if reader.get_mut().write_all(whole.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The first line and the body of the next request; after the line the user in whose name it is made, if it is another.
fn request(reader: &mut BufReader<std::net::TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if let Some(user) = line.to_ascii_lowercase().strip_prefix("impersonate-user:") {
            first = format!("{} as {}", first.trim(), user.trim());
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.trim().to_owned(), String::from_utf8(body).ok()?))
}

pub(crate) fn failure(code: u16, reason: &str, message: &str, name: &str) -> (u16, Value) {
    let details = json!({"name": name, "group": "cutover.dev", "kind": "fleetrollouts"});
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code});
    (code, status)
}

/// Every verb that talks to the hub cluster says the same of one that is not there.
const ASKING: &[&[&str]] = &[
    &["doctor"],
    &["get"],
    &["get", "shop"],
    &["why", "shop"],
    &["wait", "shop", "--for=phase=Succeeded"],
    &["promote", "shop"],
    &["pause", "shop"],
    &["resume", "shop"],
    &["abort", "shop"],
    &["retry", "shop"],
    &["rollback", "shop"],
    &["adopt", "shop"],
    &["import", "flagger", "--live", "shop"],
];

#[test]
fn every_verb_reports_within_five_seconds_that_the_hub_cluster_is_not_there() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_folder, file) = kubeconfig(&format!("http://{unused}"));
    let expected = format!(
        "cutover: cannot talk to the API server http://{unused}/: Connection refused (os error 111)\nis it the right cluster? see --context and --kubeconfig\n"
    );
    for words in ASKING {
        let (status, _, said) = printed(&in_time(bare(words).env("KUBECONFIG", &file)));
        assert_eq!((status, said.as_str()), (Some(1), expected.as_str()), "{words:?}");
    }
}

#[test]
fn a_hub_cluster_that_hangs_is_reported_within_five_seconds() {
    let address = api_server(|_, _| None);
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let expected = format!(
        "cutover: the API server http://{address}/ did not answer within 5 s\n\
         is it the right cluster? see --context, --kubeconfig and --request-timeout\n"
    );
    let (status, _, said) = printed(&in_time(bare(&["get", "shop"]).env("KUBECONFIG", &file)));
    assert_eq!((status, said.as_str()), (Some(1), expected.as_str()));
    let sooner = ["get", "shop", "--request-timeout", "200ms"];
    let (status, _, said) = printed(&in_time(bare(&sooner).env("KUBECONFIG", &file)));
    assert_eq!((status, said.as_str()), (Some(1), expected.replace("5 s", "0.2 s").as_str()));
}

#[test]
fn all_rights_that_are_missing_are_named_at_once() {
    let address = api_server(|line, body| {
        if line.contains("selfsubjectaccessreviews") {
            let mut review: Value = serde_json::from_str(body).unwrap();
            let attributes = &review["spec"]["resourceAttributes"];
            let allowed = attributes["verb"] == "get";
            review["status"] = json!({"allowed": allowed});
            return Some((201, review));
        }
        Some(failure(403, "Forbidden", "fleetrollouts.cutover.dev is forbidden: User \"me\" cannot", ""))
    });
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    let (viewer, operator) = ("cutover-viewer", "cutover-operator");
    for (words, lacking, role) in [
        (&["get"][..], "list fleetrollouts, watch fleetrollouts, list memberclusters", viewer),
        (&["pause", "shop"], "create rolloutrequests, list rolloutrequests, watch rolloutrequests", operator),
    ] {
        let (status, _, said) = printed(&in_time(bare(words).env("KUBECONFIG", &file)));
        let expected = format!(
            "cutover: you may not: {lacking} (namespace shop, group cutover.dev)\nask for the ClusterRole {role}\n"
        );
        assert_eq!((status, said), (Some(1), expected), "{words:?}");
    }
}

#[test]
fn kinds_that_are_not_installed_are_reported_with_the_command_that_installs_them() {
    let address =
        api_server(|_, _| Some(failure(404, "NotFound", "the server could not find the requested resource", "")));
    let (_folder, file) = kubeconfig(&format!("http://{address}"));
    for words in [&["get"][..], &["get", "shop"], &["promote", "shop"]] {
        let (status, _, said) = printed(&in_time(bare(words).env("KUBECONFIG", &file)));
        let expected = "cutover: the CRDs of cutover are not installed in this cluster\n\
                        install them: cutover crd | kubectl apply --server-side -f -\n";
        assert_eq!((status, said.as_str()), (Some(1), expected), "{words:?}");
    }
}

/// No home, no temporary folder, nowhere to write, another locale, a broken time zone, few files: the same answer.
#[test]
fn what_needs_no_cluster_works_anywhere() {
    let file = root().join("examples/first-rollout/rollout.yaml").display().to_string();
    let usual = |words: &[&str]| printed(&Command::new(env!("CARGO_BIN_EXE_cutover")).args(words).output().unwrap());
    for words in [&["validate", &file][..], &["plan", &file], &["crd"], &["completions", "bash"]] {
        let expected = usual(words);
        assert_eq!(expected.0, Some(0), "{expected:?}");
        for (case, variable, value) in [
            ("no environment at all", "NOTHING", ""),
            ("locale C", "LC_ALL", "C"),
            ("a locale that does not exist", "LANG", "xx_XX.UTF-9"),
            ("a time zone that does not exist", "TZ", "Nowhere/Broken"),
            ("a time zone that is no text of one", "TZ", ":/proc/self/mem"),
            ("a home that is no folder", "HOME", "/dev/null"),
            ("no folder for temporary files", "TMPDIR", "/proc"),
        ] {
            let mut command = bare(words);
            command.env(variable, value).current_dir("/proc");
            assert_eq!(printed(&command.output().unwrap()), expected, "{words:?}: {case}");
        }
    }
}

#[test]
fn few_open_files_are_enough() {
    let file = root().join("examples/first-rollout/rollout.yaml").display().to_string();
    let script = format!("ulimit -n 16; exec {} validate {file}", env!("CARGO_BIN_EXE_cutover"));
    let (status, _, said) = printed(&Command::new("sh").args(["-c", &script]).output().unwrap());
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn a_hub_that_cannot_begin_says_which_flag_to_correct() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let (folder, file) = kubeconfig("http://127.0.0.1:1");
    let nonsense = folder.path().join("nonsense");
    std::fs::write(&nonsense, "clusters: [s3cret").unwrap();
    let listen = format!("--listen={}", taken.local_addr().unwrap());
    let file = file.display().to_string();
    let nonsense = nonsense.display().to_string();
    for (words, expected) in [
        (
            ["--kubeconfig=/nowhere/config", "--listen=127.0.0.1:0"],
            "--kubeconfig /nowhere/config: No such file or directory (os error 2)".to_owned(),
        ),
        (
            [&format!("--kubeconfig={nonsense}"), "--listen=127.0.0.1:0"],
            format!("--kubeconfig {nonsense} is not a usable kubeconfig; see kubectl config view --kubeconfig"),
        ),
        (
            [&format!("--kubeconfig={file}"), &listen],
            format!("{listen}: Address already in use (os error 98); give another address").replacen('=', " ", 1),
        ),
        (
            ["--namespace=cutover-system", "--listen=127.0.0.1:0"],
            "no usable kubeconfig in KUBECONFIG and no service account; give --kubeconfig, or run in a cluster"
                .to_owned(),
        ),
    ] {
        let (status, _, said) = printed(&in_time(bare(&["hub"]).args(words)));
        assert_eq!((status, said), (Some(1), format!("cutover: {expected}\n")), "{words:?}");
    }
}

/// A hub whose cluster never answers, from the moment on at which it says that it begins.
fn waiting_hub(file: &std::path::Path) -> (Child, mpsc::Receiver<String>) {
    let mut command = bare(&["hub", "--listen=127.0.0.1:0", "--log-format=json", "--kubeconfig"]);
    command.arg(file).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (sender, lines) = mpsc::channel();
    let outputs: [Box<dyn Read + Send>; 2] =
        [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
    for output in outputs {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
    }
    (child, lines)
}

#[test]
fn a_hub_that_gets_one_or_two_signals_to_stop_ends_in_time_and_well() {
    for (case, signals) in [("once", 1), ("twice", 2)] {
        let (called, calls) = mpsc::channel();
        let address = api_server(move |line, _| {
            let _ = called.send(line.to_owned());
            None
        });
        let (_folder, file) = kubeconfig(&format!("http://{address}"));
        let (mut child, lines) = waiting_hub(&file);
        let first = calls.recv_timeout(Duration::from_secs(20));
        assert!(
            first.is_ok_and(|line| line.contains("servicecidrs")),
            "{case}: {:?}",
            lines.try_iter().collect::<Vec<_>>()
        );
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let began = Instant::now();
        for _ in 0..signals {
            kill_process(pid, Signal::TERM).unwrap();
        }
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(6), "{case}: it still runs");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((status.code(), status.signal()), (Some(0), None), "{case}");
    }
}
