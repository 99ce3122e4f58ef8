//! Retired words: each thing has one name, the one that a Kubernetes engineer would guess.
//!
//! To retire another word, add a row to [`RETIRED`]. A place that must keep a word gets a row in [`EXCEPTIONS`] with the
//! reason. Words are found in any spelling of an identifier: `way back` is found in `wayBack`, `way_back` and `WAY_BACK`.

use std::{fs, path::Path};

use crate::command::root;

/// Where a word is retired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In every text of the repository.
    Everywhere,
    /// In identifiers of src; comments and texts may use it in its ordinary sense.
    Identifiers,
}

use Place::{Everywhere, Identifiers};

/// The word, where it is retired, and what to write instead.
const RETIRED: &[(&str, Place, &str)] = &[
    ("way back", Everywhere, "rollback target, rollbackTo"),
    ("retreat", Everywhere, "rollback"),
    ("retreats", Everywhere, "rollback"),
    ("first sight", Everywhere, "initialization"),
    ("errand", Everywhere, "background task"),
    ("errands", Everywhere, "background tasks"),
    ("custody", Everywhere, "member finalizer"),
    ("earnest", Everywhere, "write mode"),
    ("trial", Everywhere, "steering: matched or mirrored"),
    ("trials", Everywhere, "steering: matched or mirrored"),
    ("stranger", Everywhere, "foreign, undeclared, unknown"),
    ("strangers", Everywhere, "foreign, undeclared, unknown"),
    ("heirs", Everywhere, "recipients"),
    ("dress", Everywhere, "what it does"),
    ("dressed", Everywhere, "what it does"),
    ("asked", Everywhere, "desired, requested, queried, probed"),
    ("received", Everywhere, "observed, counted"),
    ("dead", Everywhere, "unavailable, down, not running, killed"),
    ("told", Everywhere, "reported, announced, delivered"),
    ("witness", Everywhere, "reference"),
    ("witnesses", Everywhere, "references"),
    ("stands for", Identifiers, "what it is"),
    ("nowhere", Identifiers, "what is missing"),
];

/// Files that are not ours, or that name the words in order to retire them.
const NOT_OURS: &[&str] = &["LICENSE", "Cargo.lock", "tests/it/words.rs"];

/// Folders that git does not track.
const UNTRACKED: &[&str] = &[".git", "target"];

/// A word, the file that keeps it, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("received", "tests/lab/apiserver.rs", "RequestReceived is a stage of Kubernetes' audit policy"),
    ("received", "tests/lab/audit.rs", "requestReceivedTimestamp is a field of Kubernetes' audit events"),
    ("dead", "tests/lab/simulator.rs", "dead_code is a lint of the compiler"),
];

/// The words of a text in lower case, each with a space before and after it: `wayBack` becomes ` way back `.
fn words(text: &str) -> String {
    let mut words = " ".to_owned();
    let mut before = ' ';
    for letter in text.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if (begins || !letter.is_alphanumeric()) && !words.ends_with(' ') {
            words.push(' ');
        }
        if letter.is_alphanumeric() {
            words.extend(letter.to_lowercase());
        }
        before = letter;
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// The code of a line of Rust, without its comment and without what stands in quotes.
fn code(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quoted => drop(letters.next()),
            '"' => quoted = !quoted,
            '/' if !quoted && letters.peek() == Some(&'/') => break,
            _ if quoted => {}
            letter => code.push(letter),
        }
    }
    code
}

/// The retired words in a line of a file.
fn retired(file: &str, line: &str) -> Vec<&'static str> {
    let everywhere = words(line);
    let is_code = file.starts_with("src/") && Path::new(file).extension().is_some_and(|end| end == "rs");
    let identifiers = if is_code { words(&code(line)) } else { String::new() };
    let holds = |word: &str, place| match place {
        Everywhere => everywhere.contains(&format!(" {word} ")),
        Identifiers => identifiers.contains(&format!(" {word} ")),
    };
    RETIRED.iter().filter(|(word, place, _)| holds(word, *place)).map(|(word, ..)| *word).collect()
}

/// Every text file below a folder, with its path from the root.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if path.is_symlink() || UNTRACKED.contains(&name.as_str()) || NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            found.extend(texts(&path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push((name, text));
        }
    }
    found
}

#[test]
fn retired_words_do_not_come_back() {
    let files = texts(&root());
    for expected in ["src/lib.rs", "docs/ARCHITECTURE.md", "config/crd/fleetrollouts.yaml", "tests/sim/main.rs"] {
        assert!(files.iter().any(|(name, _)| name == expected), "{expected} was not read");
    }
    let mut wrong = Vec::new();
    let mut unused = EXCEPTIONS.to_vec();
    for (file, text) in &files {
        for (number, line) in (1..).zip(text.lines()) {
            for word in retired(file, line) {
                unused.retain(|(kept, place, _)| (*kept, *place) != (word, file.as_str()));
                if !EXCEPTIONS.iter().any(|(kept, place, _)| (*kept, *place) == (word, file.as_str())) {
                    let (.., instead) = RETIRED.iter().find(|(known, ..)| *known == word).unwrap();
                    wrong.push(format!("{file}:{number}: {word:?} is retired; write: {instead}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unused.is_empty(), "exceptions that nothing needs: {unused:?}");
}

#[test]
fn a_retired_word_is_found_in_every_spelling() {
    for line in ["the way back", "let way_back = 1;", "wayBack: {}", "const WAY_BACK: u8 = 1;", "struct WayBack;"] {
        assert_eq!(retired("docs/any.md", line), ["way back"], "{line}");
    }
    for line in ["a railway backend", "always backwards", "address", "industrial"] {
        assert_eq!(retired("docs/any.md", line), [""; 0], "{line}");
    }
}

#[test]
fn some_words_are_retired_as_identifiers_only() {
    for line in ["let nowhere = 1;", "fn leads_nowhere() {}", "a(\"text\", nowhere) // text"] {
        assert_eq!(retired("src/any.rs", line), ["nowhere"], "{line}");
    }
    for line in ["// nowhere", "a(\"leads \\\" nowhere\")", "/// It leads nowhere."] {
        assert_eq!(retired("src/any.rs", line), [""; 0], "{line}");
    }
    assert_eq!(retired("docs/any.md", "nowhere"), [""; 0]);
}
