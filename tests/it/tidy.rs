//! The house rules that a compiler does not keep.

mod code_map;

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
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut code = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            code.push(line);
        } else if lines.next().is_some_and(|item| !item.ends_with(';')) {
            // The formatter guarantees that the closing brace of the item stands below its attribute.
            let ends = |next: &&str| indent(next) == indent(line) && matches!(next.trim(), "}" | "};");
            lines.find(ends);
        }
    }
    code.into_iter().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A file that only tests compile.
fn is_test(path: &Path) -> bool {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    path.ancestors().take_while(|part| stem(part) != "src").any(|part| {
        let Some(folder) = part.parent() else { return false };
        let declared = format!("mod {};", stem(part));
        let parents = [folder.join("mod.rs"), folder.with_extension("rs"), folder.join("lib.rs")];
        let texts = parents.iter().filter_map(|parent| fs::read_to_string(parent).ok());
        texts.flat_map(|text| tests_of(&text)).any(|line| line.ends_with(&declared))
    })
}

/// The lines that follow `#[cfg(test)]`.
fn tests_of(text: &str) -> Vec<String> {
    let next = |part: &str| part.trim_start().lines().next().unwrap_or_default().to_owned();
    text.split("#[cfg(test)]").skip(1).map(next).collect()
}

#[test]
fn the_core_is_pure() {
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

/// The hub never depends on the world that it is tried in.
#[test]
fn only_the_demo_uses_the_sandbox() {
    let may = |path: &Path| {
        path.iter().any(|part| part == "sandbox") || path.with_extension("").iter().any(|part| part == "demo")
    };
    for (path, text) in sources("src").into_iter().filter(|(path, _)| !may(path)) {
        assert!(
            !code_map::named(&code(&text), "crate::").any(|module| module == "sandbox"),
            "{}: crate::sandbox",
            path.display()
        );
    }
}

/// The hub's writes all ask the lease, have a deadline and name the version that was read.
#[test]
fn the_hub_writes_through_one_door() {
    let doors = ["src/hub/calls.rs", "src/hub/lease/seat.rs"];
    let parameters = ["PostParams", "PatchParams", "DeleteParams"];
    for folder in [
        "src/hub",
        "src/member",
        "src/metric",
        "src/prometheus",
        "src/object",
        "src/route",
        "src/backend",
        "src/web",
        "src/http",
    ] {
        for (path, text) in
            sources(folder).into_iter().filter(|(path, _)| !doors.iter().any(|door| path.ends_with(door)))
        {
            let found = parameters.iter().find(|parameter| code(&text).contains(**parameter));
            assert!(found.is_none(), "{}: {found:?} is for {doors:?} alone", path.display());
        }
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
    assert_eq!(functions("fn a() {\n    1\n}\n\n    pub fn b() {\n    }"), [(1, 3), (5, 2)]);
    assert_eq!(code("a\n// b\n#[cfg(test)]\nc"), "a");
    let text = "a\n#[cfg(test)]\nmod tests;\nb\n    #[cfg(test)]\n    fn c() {\n        d\n    }\ne";
    assert_eq!(code(text), "a\nb\ne");
    assert_eq!(tests_of(text), ["mod tests;", "fn c() {"]);
    let is_test = |path: &str| is_test(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    assert!(is_test("src/route/conformance/forms.rs") && is_test("src/backend/tests/bad_services.rs"));
    assert!(!is_test("src/route/mod.rs") && !is_test("src/route/skipper/chain.rs"));
}
