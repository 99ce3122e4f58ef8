//! The house rules that a compiler does not keep.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Lines that a source file may have at most.
const FILE: usize = 400;
/// Files of data: one type after the other, or one reason after the other.
const DATA_FILE: usize = 600;
/// Lines that a file of tests may have at most.
const TEST_FILE: usize = 350;
/// Lines that a function may have at most.
const FUNCTION: usize = 70;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of this crate") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a text file");
                found.push((path, text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

/// The code without its tests and comments.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Every `crate::x`, with whatever stands in braces after a bare `crate::`.
fn rooms(code: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut rooms = Vec::new();
    for part in code.split("crate::").skip(1) {
        match part.strip_prefix('{') {
            None => rooms.push(word(part)),
            Some(group) => {
                let mut depth = 0;
                let mut starts = true;
                for (at, letter) in group.char_indices() {
                    match letter {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => starts = true,
                        letter if depth == 0 && starts && !letter.is_whitespace() => {
                            rooms.push(word(&group[at..]));
                            starts = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    rooms
}

fn only_knows(folder: &str, allowed: &[&str]) {
    for (path, text) in sources(folder).into_iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
        for room in rooms(&code(&text)) {
            assert!(allowed.contains(&room.as_str()), "{}: crate::{room} is not for {folder}", path.display());
        }
    }
}

#[test]
fn the_core_is_pure() {
    only_knows("src/rollout", &["api", "rollout"]);
    let impure = [
        "kube::",
        "k8s_openapi",
        "tokio",
        "tracing",
        "reqwest",
        "futures",
        "async ",
        ".await",
        "std::time",
        "std::fs",
        "std::net",
        "std::env",
        "std::thread",
        "std::process",
        "Timestamp::now",
        "SystemTime",
        "Instant",
        "HashMap",
        "HashSet",
        "rand",
        "println!",
        "static mut",
        "Mutex",
        "RefCell",
        "thread_local",
    ];
    for (path, text) in sources("src/rollout") {
        for word in impure {
            let found =
                code(&text).lines().find(|line| line.contains(word) && !line.contains("/// ")).map(str::to_owned);
            assert!(found.is_none(), "{}: {word} in the pure core: {found:?}", path.display());
        }
    }
}

#[test]
fn folders_know_only_what_lies_below_them() {
    only_knows("src/api", &["api", "route"]);
    only_knows("src/route", &["api", "rollout", "backend", "route"]);
    only_knows("src/backend", &["api", "rollout", "backend", "route"]);
    only_knows("src/metric", &["api", "rollout", "metric", "member", "http"]);
    only_knows("src/validate", &["api", "rollout", "route", "backend", "metric", "yaml", "validate"]);
    only_knows("src/http", &["http"]);
    only_knows("src/sandbox", &["api", "clock", "http", "metric", "sandbox"]);
    only_knows("src/sandbox/api", &["api", "sandbox"]);
    only_knows("src/sandbox/prometheus", &["metric"]);
}

/// The hub never depends on the world that it is tried in.
#[test]
fn only_the_demo_uses_the_sandbox() {
    let may = |path: &Path| {
        path.iter().any(|part| part == "sandbox") || path.with_extension("").iter().any(|part| part == "demo")
    };
    for (path, text) in sources("src").into_iter().filter(|(path, _)| !may(path)) {
        assert!(!rooms(&code(&text)).contains(&"sandbox".to_owned()), "{}: crate::sandbox", path.display());
    }
}

#[test]
fn files_and_functions_are_short() {
    let is_test = |path: &Path| {
        path.with_extension("").iter().any(|part| part == "tests" || part == "fixtures" || part == "conformance")
    };
    for (path, text) in sources("src").into_iter().filter(|(path, _)| !is_test(path)) {
        let code = code(&text);
        let data = path.components().any(|part| part.as_os_str() == "api");
        let most = if data { DATA_FILE } else { FILE };
        let lines = code.lines().count();
        assert!(lines <= most, "{}: {lines} lines, {most} are allowed", path.display());
        for (start, length) in functions(&code) {
            assert!(length <= FUNCTION, "{}: a function of {length} lines at code line {start}", path.display());
        }
    }
}

#[test]
fn files_of_tests_are_short() {
    for (path, text) in sources("tests") {
        let lines = text.lines().count();
        assert!(lines <= TEST_FILE, "{}: {lines} lines, {TEST_FILE} are allowed", path.display());
    }
}

/// Start and length of every function, by indentation: the formatter guarantees that the closing brace stands below it.
fn functions(code: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let begins = |line: &str| {
        let line = line.trim_start();
        [
            "fn ",
            "pub fn ",
            "pub(super) fn ",
            "pub(crate) fn ",
            "async fn ",
            "pub async fn ",
            "pub(super) async fn ",
            "const fn ",
            "pub const fn ",
        ]
        .iter()
        .any(|start| line.starts_with(start))
    };
    let end = |from: usize| {
        let closes = |line: &&str| line.trim_start() == "}" && indent(line) == indent(lines[from]);
        lines[from..].iter().position(closes).unwrap_or(0)
    };
    (0..lines.len())
        .filter(|line| begins(lines[*line]) && !lines[*line].ends_with(';'))
        .map(|line| (line + 1, end(line) + 1))
        .collect()
}

#[test]
fn the_rules_above_can_fail() {
    assert_eq!(rooms("use crate::{api::{A, b::C}, hub}; crate::yaml::parse()"), ["api", "hub", "yaml"]);
    assert_eq!(functions("fn a() {\n    1\n}\n\n    pub fn b() {\n    }"), [(1, 3), (5, 2)]);
    assert_eq!(code("a\n// b\n#[cfg(test)]\nc"), "a");
}
