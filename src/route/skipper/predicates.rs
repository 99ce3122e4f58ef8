//! The predicates of a canary Ingress: those of the apex, and what makes Skipper try it first or not at all.

/// Skipper tries the route with more predicates first; this one counts for 100.
const FIRST: &str = "Weight(100)";
/// No request has it.
const NEVER: &str = "False()";

/// Whether a canary Ingress takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
}

/// The predicates of a canary whose apex has these: each once, and its own first.
pub(super) fn of_canary(apex: &str, switch: Switch) -> String {
    let own: &[&str] = match switch {
        Switch::On => &[FIRST],
        Switch::Off => &[FIRST, NEVER],
    };
    let mut all: Vec<&str> = own.to_vec();
    for predicate in split(apex) {
        if !all.contains(&predicate) {
            all.push(predicate);
        }
    }
    all.join(" && ")
}

/// Whether an Ingress with these predicates takes requests.
pub(super) fn switch_of(predicates: &str) -> Switch {
    if split(predicates).contains(&NEVER) { Switch::Off } else { Switch::On }
}

/// An apex with this predicate would have the same place as its canary.
pub(super) fn has_first(apex: &str) -> bool {
    split(apex).contains(&FIRST)
}

/// What stands between the `&&` that are in no text, no regular expression and no parentheses.
fn split(predicates: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    let mut rest = predicates.char_indices();
    while let Some((at, letter)) = rest.next() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '"' | '`' | '/' => skip_text(&mut rest, letter),
            '&' if depth == 0 && predicates[at..].starts_with("&&") => {
                parts.push(&predicates[from..at]);
                from = at + 2;
                rest.next();
            }
            _ => {}
        }
    }
    parts.push(&predicates[from..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Goes on behind the end of a text; nothing but a raw text has escapes.
fn skip_text(rest: &mut std::str::CharIndices<'_>, end: char) {
    while let Some((_, letter)) = rest.next() {
        match letter {
            '\\' if end != '`' => drop(rest.next()),
            letter if letter == end => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canarys_own_predicates_stand_first_and_each_stands_once() {
        for (apex, on, off) in [
            ("", "Weight(100)", "Weight(100) && False()"),
            ("Method(\"GET\")", "Weight(100) && Method(\"GET\")", "Weight(100) && False() && Method(\"GET\")"),
            (
                "Method(\"GET\") &&Method(\"GET\")&& Cookie(\"a\", /x&&y\\/(/) && True()",
                "Weight(100) && Method(\"GET\") && Cookie(\"a\", /x&&y\\/(/) && True()",
                "Weight(100) && False() && Method(\"GET\") && Cookie(\"a\", /x&&y\\/(/) && True()",
            ),
            ("Weight(7)", "Weight(100) && Weight(7)", "Weight(100) && False() && Weight(7)"),
        ] {
            assert_eq!((of_canary(apex, Switch::On), of_canary(apex, Switch::Off)), (on.into(), off.into()), "{apex}");
        }
    }

    #[test]
    fn a_predicate_in_a_text_is_none() {
        for (predicates, switch) in [
            ("Weight(100) && False()", Switch::Off),
            ("False()&&Weight(100)", Switch::Off),
            ("Weight(100) && Header(\"a\", \"\\\" && False() && \")", Switch::On),
            ("Weight(100) && Header(\"a\", `\\`) && False()", Switch::Off),
            ("Weight(100)", Switch::On),
            ("", Switch::On),
        ] {
            assert_eq!(switch_of(predicates), switch, "{predicates}");
        }
        assert!(has_first("True() && Weight(100)") && !has_first("Header(\"a\", \"Weight(100)\")"));
    }
}
