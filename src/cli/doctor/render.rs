//! The report as text: a part for each section, a line for each check, the remedy below it. Pure.

use super::check::{Check, Outcome};
use crate::cli::text::{escape, wrap};

/// Columns before the text of a check.
const INDENT: usize = 8;

/// The whole report; what was found is broken at `width` columns.
pub(super) fn render(checks: &[Check], width: usize) -> String {
    let mut text = String::new();
    for part in checks.chunk_by(|one, next| one.section == next.section) {
        let title = part.first().map_or("", |check| check.section.title());
        text.extend([title, "\n"]);
        text.extend(part.iter().map(|check| line(check, width)));
        text.push('\n');
    }
    text + &summary(checks)
}

fn line(check: &Check, width: usize) -> String {
    let word = match check.outcome {
        Outcome::Good(_) => "ok",
        Outcome::Bad { .. } => "BAD",
        Outcome::NotKnown { .. } => "?",
    };
    let (said, remedy) = check.outcome.texts();
    let said = format!("{}: {}", escape(&check.subject), escape(said));
    let first = format!("  {word:<6}{}\n", indented(&said, width));
    // It is not broken, so that its commands can be copied.
    let remedy = remedy.map(|remedy| format!("{}-> {}\n", " ".repeat(INDENT), escape(remedy)));
    first + &remedy.unwrap_or_default()
}

fn indented(text: &str, width: usize) -> String {
    // The first line stands behind as many columns as the others.
    wrap(text, width.saturating_sub(INDENT), 0).replace('\n', &format!("\n{}", " ".repeat(INDENT)))
}

fn summary(checks: &[Check]) -> String {
    let (all, bad) = (checks.len(), checks.iter().filter(|check| check.is_bad()).count());
    let not_known = checks.iter().filter(|check| check.is_not_known()).count();
    let verb = |count: usize| if count == 1 { "is" } else { "are" };
    let bad = match bad {
        0 => format!("none of {all} checks is bad"),
        bad => format!("{bad} of {all} checks {} bad", verb(bad)),
    };
    match not_known {
        0 => format!("{bad}\n"),
        count => format!("{bad}; {count} {} not known\n", verb(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::Section;

    fn checks() -> Vec<Check> {
        vec![
            Check::new(Section::Kinds, "CRD a", Outcome::good("of this version")),
            Check::new(Section::Kinds, "CRD b", Outcome::bad("it does not exist", "install it: cutover crd")),
            Check::new(Section::Hub, "Lease", Outcome::not_known("it cannot be read", "ask for a role")),
        ]
    }

    #[test]
    fn every_check_has_a_line_and_what_is_not_good_has_its_remedy_below() {
        assert_eq!(
            render(&checks(), 80),
            "kinds and versions
  ok    CRD a: of this version
  BAD   CRD b: it does not exist
        -> install it: cutover crd

hub
  ?     Lease: it cannot be read
        -> ask for a role

1 of 3 checks is bad; 1 is not known
"
        );
        assert_eq!(render(&checks()[..1], 80).lines().last(), Some("none of 1 checks is bad"));
    }

    #[test]
    fn lines_are_broken_at_the_width_and_nothing_hostile_reaches_the_terminal() {
        let hostile = Check::new(Section::Members, "eu\u{1b}[31m", Outcome::good("one two three four five\nsix"));
        let shown = render(&[hostile], 30);
        assert!(!shown.contains('\u{1b}') && shown.contains("five\\u{a}six"), "{shown:?}");
        let rest = shown.lines().skip(2).take_while(|line| !line.is_empty());
        assert!(rest.clone().count() > 0 && rest.into_iter().all(|line| line.starts_with("        ")), "{shown}");
    }

    #[test]
    fn a_program_reads_the_outcome_and_the_remedy() {
        assert_eq!(
            serde_json::to_value(&checks()[1]).unwrap(),
            serde_json::json!({"section": "kinds", "subject": "CRD b", "outcome": "bad", "message": "it does not exist",
                "remedy": "install it: cutover crd"})
        );
    }
}
