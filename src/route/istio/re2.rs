//! Regular expressions as Envoy and istiod read them (RE2). With one that they cannot read Envoy refuses the routes of a
//! whole port, so they are judged before they are written.
//!
//! What is judged here is narrower than RE2: what engines read in different ways is refused.

use regex_syntax::ast::{
    Assertion, AssertionKind, Ast, ClassBracketed, ClassSet, ClassSetItem, ClassUnicode, ClassUnicodeKind, ErrorKind,
    Flag, Flags, FlagsItemKind, Group, GroupKind, HexLiteralKind, Literal, LiteralKind, RepetitionKind,
    RepetitionRange, SpecialLiteralKind, parse::Parser,
};

/// istiod takes no longer ones.
const MAX_LENGTH: usize = 1024;
/// RE2 repeats nothing more often, with all repetitions around it.
const MAX_REPEATS: u32 = 1000;
/// Instructions, roughly; Istio lets its proxies take three times as many.
const MAX_SIZE: u32 = 10_000;
/// A class of characters beyond ASCII takes so many instructions.
const WIDE: u32 = 40;
/// One of Unicode's categories.
const CATEGORY: u32 = 1000;

/// Why an expression might not be read, in words.
pub(crate) fn refusal(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("is empty");
    }
    if text.len() > MAX_LENGTH {
        return Some("is longer than 1024 characters");
    }
    let Ok(parsed) = Parser::new().parse(text) else { return Some("is no regular expression of RE2") };
    match size(&parsed, 1) {
        Ok(size) if size > MAX_SIZE => Some("is too large for RE2"),
        Ok(_) => None,
        Err(Unknown::Construct) => Some("uses what RE2 does not know, or reads in another way"),
        Err(Unknown::Repeats) => Some("repeats more than 1000 times"),
    }
}

/// An expression that others wrote is certainly not read. Of what only RE2 knows nothing is said.
pub(super) fn is_broken(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    match Parser::new().parse(text) {
        Ok(parsed) => matches!(size(&parsed, 1), Err(Unknown::Repeats)),
        // What stands between these is no expression to RE2.
        Err(_) if text.contains(r"\Q") => false,
        Err(error) => match error.kind() {
            // In a class of RE2 this is a character like any.
            ErrorKind::ClassUnclosed => text.matches('[').count() == 1,
            kind => is_known_by_all(kind),
        },
    }
}

/// What is wrong is so for every engine.
const fn is_known_by_all(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ClassRangeInvalid
            | ErrorKind::GroupUnclosed
            | ErrorKind::GroupUnopened
            | ErrorKind::RepetitionCountInvalid
            | ErrorKind::RepetitionMissing
            | ErrorKind::UnsupportedLookAround
    )
}

/// Why RE2 does not read it.
enum Unknown {
    /// It does not know the construct, or reads it in another way.
    Construct,
    /// It repeats nothing that often.
    Repeats,
}

/// The instructions that it takes, roughly, within so many repetitions.
fn size(ast: &Ast, repeats: u32) -> Result<u32, Unknown> {
    match ast {
        Ast::Empty(_) => Ok(1),
        Ast::Flags(flags) => flags_known(&flags.flags).map(|()| 1),
        Ast::Literal(literal) => literal_known(literal).map(|()| 4),
        Ast::Dot(_) | Ast::ClassPerl(_) => Ok(WIDE),
        Ast::Assertion(assertion) => assertion_known(assertion).map(|()| 1),
        Ast::ClassUnicode(class) => category_known(class).map(|()| CATEGORY),
        Ast::ClassBracketed(class) => class_size(class),
        Ast::Repetition(repetition) => {
            if matches!(*repetition.ast, Ast::Repetition(_)) {
                return Err(Unknown::Construct);
            }
            let times = times(&repetition.op.kind);
            let repeats = repeats.saturating_mul(times);
            if repeats > MAX_REPEATS {
                return Err(Unknown::Repeats);
            }
            Ok(size(&repetition.ast, repeats)?.saturating_mul(times).saturating_add(1))
        }
        Ast::Group(group) => group_known(group).and_then(|()| Ok(size(&group.ast, repeats)?.saturating_add(2))),
        Ast::Alternation(any) => sum(any.asts.iter().map(|ast| size(ast, repeats))),
        Ast::Concat(all) => sum(all.asts.iter().map(|ast| size(ast, repeats))),
    }
}

fn sum(sizes: impl Iterator<Item = Result<u32, Unknown>>) -> Result<u32, Unknown> {
    sizes.into_iter().try_fold(1_u32, |sum, size| Ok(sum.saturating_add(size?)))
}

/// How often the repeated part is written out.
fn times(kind: &RepetitionKind) -> u32 {
    match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => 1,
        RepetitionKind::Range(
            RepetitionRange::Exactly(times) | RepetitionRange::AtLeast(times) | RepetitionRange::Bounded(_, times),
        ) => (*times).max(1),
    }
}

fn group_known(group: &Group) -> Result<(), Unknown> {
    match &group.kind {
        GroupKind::CaptureIndex(_) | GroupKind::CaptureName { starts_with_p: true, .. } => Ok(()),
        GroupKind::CaptureName { starts_with_p: false, .. } => Err(Unknown::Construct),
        GroupKind::NonCapturing(flags) => flags_known(flags),
    }
}

fn flags_known(flags: &Flags) -> Result<(), Unknown> {
    let is_known = |flag: &Flag| match flag {
        Flag::CaseInsensitive | Flag::MultiLine | Flag::DotMatchesNewLine | Flag::SwapGreed => true,
        Flag::Unicode | Flag::CRLF | Flag::IgnoreWhitespace => false,
    };
    let all = flags.items.iter().all(|item| match &item.kind {
        FlagsItemKind::Negation => true,
        FlagsItemKind::Flag(flag) => is_known(flag),
    });
    if all { Ok(()) } else { Err(Unknown::Construct) }
}

fn literal_known(literal: &Literal) -> Result<(), Unknown> {
    match &literal.kind {
        LiteralKind::Verbatim
        | LiteralKind::Meta
        | LiteralKind::Superfluous
        | LiteralKind::HexFixed(HexLiteralKind::X)
        | LiteralKind::HexBrace(HexLiteralKind::X)
        | LiteralKind::Special(
            SpecialLiteralKind::Bell
            | SpecialLiteralKind::FormFeed
            | SpecialLiteralKind::Tab
            | SpecialLiteralKind::LineFeed
            | SpecialLiteralKind::CarriageReturn
            | SpecialLiteralKind::VerticalTab,
        ) => Ok(()),
        LiteralKind::Octal
        | LiteralKind::HexFixed(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong)
        | LiteralKind::HexBrace(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong)
        | LiteralKind::Special(SpecialLiteralKind::Space) => Err(Unknown::Construct),
    }
}

fn assertion_known(assertion: &Assertion) -> Result<(), Unknown> {
    match assertion.kind {
        AssertionKind::StartLine
        | AssertionKind::EndLine
        | AssertionKind::StartText
        | AssertionKind::EndText
        | AssertionKind::WordBoundary
        | AssertionKind::NotWordBoundary => Ok(()),
        AssertionKind::WordBoundaryStart
        | AssertionKind::WordBoundaryEnd
        | AssertionKind::WordBoundaryStartAngle
        | AssertionKind::WordBoundaryEndAngle
        | AssertionKind::WordBoundaryStartHalf
        | AssertionKind::WordBoundaryEndHalf => Err(Unknown::Construct),
    }
}

fn category_known(class: &ClassUnicode) -> Result<(), Unknown> {
    match class.kind {
        ClassUnicodeKind::OneLetter('C' | 'L' | 'M' | 'N' | 'P' | 'S' | 'Z') => Ok(()),
        ClassUnicodeKind::OneLetter(_) | ClassUnicodeKind::Named(_) | ClassUnicodeKind::NamedValue { .. } => {
            Err(Unknown::Construct)
        }
    }
}

fn class_size(class: &ClassBracketed) -> Result<u32, Unknown> {
    match &class.kind {
        ClassSet::Item(item) => Ok(item_size(item)?.saturating_add(if class.negated { WIDE } else { 1 })),
        ClassSet::BinaryOp(_) => Err(Unknown::Construct),
    }
}

fn item_size(item: &ClassSetItem) -> Result<u32, Unknown> {
    match item {
        ClassSetItem::Literal(literal) => literal_known(literal).map(|()| 4),
        ClassSetItem::Range(range) => {
            literal_known(&range.start).and_then(|()| literal_known(&range.end)).map(|()| WIDE)
        }
        ClassSetItem::Ascii(_) | ClassSetItem::Perl(_) => Ok(WIDE),
        ClassSetItem::Unicode(class) => category_known(class).map(|()| CATEGORY),
        ClassSetItem::Union(union) => sum(union.items.iter().map(item_size)),
        ClassSetItem::Empty(_) | ClassSetItem::Bracketed(_) => Err(Unknown::Construct),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_engine_reads_alike_is_taken() {
        for text in [
            ".*",
            "a|b",
            "^(.*; ?)?beta=(1|2)(;.*)?$",
            r"mobile.*\d{1,3}",
            "[a-z0-9-]+",
            "[^;]*",
            "[[:alpha:]]{2}",
            "(?i)pc",
            "(?i:pc)s",
            "(?P<kind>pc)",
            r"\bpc\b",
            r"\x{41}\x41\.\-\/",
            r"\pL+",
            "a{1000}",
            "a*?",
            "",
        ] {
            assert_eq!(refusal(text).is_some(), text.is_empty(), "{text}: {:?}", refusal(text));
        }
    }

    /// Each of these was given to Go's package regexp, which istiod asks: it refuses it, or reads it in another way than others.
    #[test]
    fn what_re2_refuses_or_reads_in_another_way_is_refused() {
        for text in [
            "(",
            "a)",
            "[a",
            "*a",
            "a**",
            "a*+",
            "a{2}{3}",
            "a{1001}",
            "(a{100}){11}",
            "(?=a)",
            "(?!a)",
            "(?<=a)b",
            r"(a)\1",
            "(?x) a",
            "(?<kind>a)",
            "[a[b]]",
            "[a-z&&[^b]]",
            "[a--b]",
            r"\p{Greek}",
            r"\p{Alphabetic}",
            r"\u0041",
            r"\u{41}",
            r"\<a\>",
            r"\b{start}a",
            r"\Z",
            r"\h",
        ] {
            assert!(refusal(text).is_some(), "{text}");
        }
    }

    #[test]
    fn of_others_expressions_only_what_nobody_reads_is_broken() {
        for text in ["", "(", "a)", "[a", "*a", "(?=a)", "(?!a)", "a{1001}", "(a{100}){11}", "[z-a]", "a{2,1}"] {
            assert!(is_broken(text), "{text}");
        }
        for text in [".*", r"\p{Greek}", r"\Qa(b\E", r"\C", "(?<kind>a)", "[a[b]", r"[\w.]+", "(?i)pc"] {
            assert!(!is_broken(text), "{text}");
        }
    }

    #[test]
    fn what_takes_too_many_instructions_is_refused() {
        assert_eq!(refusal(&"a".repeat(1024)), None);
        assert_eq!(refusal(&"a".repeat(1025)), Some("is longer than 1024 characters"));
        assert_eq!(refusal(r"\pL{1000}"), Some("is too large for RE2"));
        assert_eq!(refusal("(.{30}){30}"), Some("is too large for RE2"));
    }
}
