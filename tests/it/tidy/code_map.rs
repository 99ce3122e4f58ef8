//! The code map of docs/ARCHITECTURE.md is true: what each folder may use is what it does use, and imports run one way.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{code, is_word, sources};

/// A folder or file of `src`, and the top-level modules that it may use.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    place: String,
    may_use: BTreeSet<String>,
}

impl Row {
    /// The top-level module that the row is about, or is a part of.
    fn module(&self) -> &str {
        self.place.trim_end_matches(".rs").split('/').next().unwrap_or_default()
    }

    fn holds(&self, file: &str) -> bool {
        Path::new(file).starts_with(&self.place)
    }
}

/// The rows about `src`, in the order of the page.
fn rows(page: &str) -> Vec<Row> {
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
        let [place, _, may_use] = cells.as_slice() else { return None };
        let place = words(place).into_iter().next()?.strip_prefix("src/")?.trim_end_matches('/').to_owned();
        Some(Row { place, may_use: words(may_use).into_iter().collect() })
    };
    page.lines().filter_map(row).collect()
}

/// Every top-level module that the code of one file names. `file` is its path below `src`.
fn uses(file: &str, code: &str) -> BTreeSet<String> {
    let module = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let root = "super::".repeat(module.split('/').count());
    named(code, "crate::").chain(named(code, &root)).collect()
}

/// What follows a prefix, with whatever stands in braces after the bare prefix.
pub(super) fn named<'c>(code: &'c str, prefix: &str) -> impl Iterator<Item = String> {
    let word = |text: &str| text.chars().take_while(|letter| is_word(*letter)).collect::<String>();
    let ends_a_path = |before: &&str| !before.ends_with("::") && !before.chars().next_back().is_some_and(is_word);
    let starts = code.match_indices(prefix).filter(|(at, _)| ends_a_path(&&code[..*at]));
    let parts = starts.map(|(at, _)| &code[at + prefix.len()..]).collect::<Vec<&'c str>>();
    parts.into_iter().flat_map(move |part| match part.strip_prefix('{') {
        None => vec![word(part)],
        Some(group) => first_level(group).into_iter().map(word).collect(),
    })
}

/// The items of a group of imports, up to its closing brace.
fn first_level(group: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(group[start..at].trim());
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items.into_iter().filter(|item| !item.is_empty()).collect()
}

/// What is wrong with a map, for these files and what each uses.
fn faults(rows: &[Row], used: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut used_by_row = vec![BTreeSet::new(); rows.len()];
    for (file, modules) in used {
        let holds = |index: &usize| rows[*index].holds(file);
        let Some(row) = (0..rows.len()).filter(holds).max_by_key(|index| rows[*index].place.len()) else {
            faults.push(format!("src/{file} has no row in the code map"));
            continue;
        };
        for module in modules.iter().filter(|module| *module != rows[row].module()) {
            if !rows[row].may_use.contains(module) {
                faults.push(format!("src/{file}: crate::{module} is not for src/{}", rows[row].place));
            }
            used_by_row[row].insert(module.clone());
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let unused = row.may_use.difference(&used_by_row[index]);
        faults.extend(unused.map(|module| format!("src/{} may use {module} and does not", row.place)));
        let is_above = |module: &&String| !rows[..index].iter().any(|lower| lower.module() == *module);
        let upward = row.may_use.iter().filter(is_above);
        faults.extend(
            upward.map(|module| format!("src/{} may use {module}, which has no row before its own", row.place)),
        );
        if !used.keys().any(|file| row.holds(file)) {
            faults.push(format!("src/{} is not there", row.place));
        }
    }
    faults
}

#[test]
fn the_code_map_says_what_each_folder_uses_and_imports_run_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).expect("the page");
    let mut used = BTreeMap::new();
    for (path, text) in sources("src").into_iter().filter(|(path, _)| !super::is_test(path)) {
        let file = path.strip_prefix(root.join("src")).expect("below src").display().to_string();
        if !["lib.rs", "main.rs"].contains(&file.as_str()) {
            used.insert(file.clone(), uses(&file, &code(&text)));
        }
    }
    let faults = faults(&rows(&page), &used);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_code_map_can_be_wrong() {
    let page = "| folder | what | may use |\n|---|---|---|\n| `src/a/` | first, `b` | nothing |\n| `src/c.rs` | one | `a` |\n\
                | `src/b/` | second | `a`, plain types of `c` |\n| `src/b/d/` | part | |\n| `tests/` | other | `x` |";
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    let rows = self::rows(page);
    let read: Vec<_> = rows.iter().map(|row| (row.place.as_str(), row.module(), row.may_use.clone())).collect();
    assert_eq!(
        read,
        [("a", "a", set(&[])), ("c.rs", "c", set(&["a"])), ("b", "b", set(&["a", "c"])), ("b/d", "b", set(&[]))]
    );
    let used = |files: &[(&str, &[&str])]| files.iter().map(|(file, uses)| ((*file).to_owned(), set(uses))).collect();
    let good = [("a/mod.rs", &["a"][..]), ("b/d/x.rs", &["b"]), ("b/mod.rs", &["a", "c"]), ("c.rs", &["a"])];
    assert_eq!(faults(&rows, &used(&good)), [""; 0]);
    let bad = [("a/mod.rs", &["b"][..]), ("b/d/x.rs", &["a"]), ("b/mod.rs", &["a"]), ("e.rs", &[])];
    assert_eq!(
        faults(&rows, &used(&bad)),
        [
            "src/a/mod.rs: crate::b is not for src/a",
            "src/b/d/x.rs: crate::a is not for src/b/d",
            "src/e.rs has no row in the code map",
            "src/c.rs may use a and does not",
            "src/c.rs is not there",
            "src/b may use c and does not",
        ]
    );
    let upward = self::rows("| `src/a/` | first | `b` |\n| `src/b/` | second | `a` |");
    let both = used(&[("a/mod.rs", &["b"]), ("b/mod.rs", &["a"])]);
    assert_eq!(faults(&upward, &both), ["src/a may use b, which has no row before its own"]);
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let modules = |file: &str, code: &str| uses(file, code).into_iter().collect::<Vec<_>>();
    let code = "use crate::{api::{A, b::C}, hub}; pub(in crate::route) fn a() { crate::yaml::parse() }";
    assert_eq!(modules("route/a.rs", code), ["api", "hub", "route", "yaml"]);
    let code = "use super::super::{cli, web::Metrics}; use super::own;";
    assert_eq!(modules("a/b.rs", code), ["cli", "web"]);
    assert_eq!(modules("a/b/mod.rs", code), ["cli", "web"]);
    assert_eq!(modules("a/b/c.rs", code), [""; 0]);
    assert_eq!(modules("a.rs", "use super::own;"), ["own"]);
}
