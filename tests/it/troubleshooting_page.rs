//! docs/troubleshooting.md names only reasons, conditions and messages that there are.

use std::path::Path;

use crate::command::root;

/// What stands between backticks.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

/// `MetricsUnknown` and the like.
fn is_reason(word: &str) -> bool {
    let capitals = word.chars().filter(char::is_ascii_uppercase).count();
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.chars().all(|character| character.is_ascii_alphanumeric())
        && (2..word.len()).contains(&capitals)
}

fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_reason_and_message_of_the_page_about_symptoms_exists() {
    let page = std::fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let operations = std::fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let unknown: Vec<_> = quoted(&page).filter(|word| is_reason(word)).collect();
    assert!(unknown.len() > 20);
    for reason in unknown {
        assert!(operations.contains(&format!("| `{reason}` |")), "{reason} is no reason in docs/operations.md");
    }
    let mut source = String::new();
    sources(&root().join("src"), &mut source);
    let about_unknown =
        page.split("## The verdict is UNKNOWN").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    for row in about_unknown.lines().filter(|line| line.starts_with("| `")) {
        let messages = row.split(" | ").next().unwrap();
        for message in quoted(messages).filter(|message| !is_reason(message)) {
            let said = message.replace("5 s", "{} s");
            assert!(source.contains(&said) || source.contains(message), "no message says {message:?}");
        }
    }
}
