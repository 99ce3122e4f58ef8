//! Variables in a query: each is replaced by what PromQL can read in its place, and put back when the query is written.

use std::{collections::BTreeSet, time::Duration};

use promql_parser::util::display_duration;

use super::Unreadable;

/// What a variable of another tool becomes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::import) enum Variable {
    /// A variable of ours, such as `namespace`.
    Ours(String),
    /// A text that is known.
    Text(String),
}

/// Where in a query a variable stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::import) enum Place {
    /// In a string.
    Quoted,
    /// Where a duration is expected.
    Duration,
    /// Anywhere else.
    Number,
}

/// A variable of ours, with the places at which a query has it.
pub(in crate::import) type Used = BTreeSet<(String, Place)>;

/// What stands for the time that a metric covers.
pub(super) const WINDOW: Duration = Duration::from_secs(30_000_061);

/// The first of the numbers that stand for variables.
const NUMBER: u64 = 7_700_000_000;

/// Pieces of a query: text, or a variable and its place.
enum Piece<'q> {
    Text(&'q str),
    Variable(Variable, Place),
}

/// A query as PromQL can read it.
pub(super) struct Replaced {
    pub(super) text: String,
    /// What stands for each variable of ours.
    pub(super) back: Vec<(String, String)>,
    pub(super) used: Used,
}

/// The query as PromQL can read it.
pub(super) fn replaced(query: &str, known: &dyn Fn(&str) -> Option<Variable>) -> Result<Replaced, Unreadable> {
    let pieces = pieces(query, known)?;
    let mut used = Used::new();
    for piece in &pieces {
        if let Piece::Variable(Variable::Ours(name), place) = piece {
            used.insert((name.clone(), *place));
        }
    }
    let window = ("window".to_owned(), Place::Duration);
    let others =
        used.iter().filter(|one| **one != window).zip(1..).map(|(one, number)| (one.clone(), token(number, one.1)));
    let tokens: Vec<((String, Place), String)> =
        [(window.clone(), display_duration(&WINDOW))].into_iter().chain(others).collect();
    let mut text = String::with_capacity(query.len());
    for piece in pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Variable(Variable::Text(known), _) => text.push_str(&known),
            Piece::Variable(Variable::Ours(name), place) => {
                let token =
                    tokens.iter().find(|(one, _)| *one == (name.clone(), place)).map(|(_, token)| token.as_str());
                text.push_str(token.unwrap_or_default());
            }
        }
    }
    let back = tokens.into_iter().map(|((name, _), token)| (token, format!("{{{{ {name} }}}}"))).collect();
    Ok(Replaced { text, back, used })
}

/// What PromQL reads and writes in the same way, and nobody else writes.
fn token(number: u64, place: Place) -> String {
    match place {
        Place::Quoted => format!("cutover{number}variable"),
        Place::Duration => display_duration(&(WINDOW + Duration::from_secs(7 * number))),
        Place::Number => (NUMBER + number).to_string(),
    }
}

/// Whether a number stands for a variable, so that nobody knows it.
pub(super) fn is_variable(number: f64) -> bool {
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    let known = NUMBER as f64;
    (known..known + 1e6).contains(&number)
}

fn pieces<'q>(query: &'q str, known: &dyn Fn(&str) -> Option<Variable>) -> Result<Vec<Piece<'q>>, Unreadable> {
    let (mut pieces, mut rest, mut quote) = (Vec::new(), query, None);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, mut after) = after.split_once("}}").ok_or(Unreadable::Open)?;
        let name = name.trim_matches(['-', ' ', '\t', '\n']);
        quote = quote_after(quote, before);
        let mut variable = known(name).ok_or_else(|| Unreadable::Unknown(name.to_owned()))?;
        if let Some(after_canary) = of_canary(&variable, after) {
            (variable, after) = (Variable::Ours("backend".to_owned()), after_canary);
        }
        pieces.extend([Piece::Text(before), Piece::Variable(variable, place(quote, before))]);
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// `{{ service }}-canary` is the Service of what is judged: what follows it.
fn of_canary<'q>(variable: &Variable, after: &'q str) -> Option<&'q str> {
    let after = after.strip_prefix("-canary").filter(|_| *variable == Variable::Ours("service".to_owned()))?;
    let goes_on = after.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    (!goes_on).then_some(after)
}

fn place(quote: Option<char>, before: &str) -> Place {
    let code = before.trim_end();
    match quote {
        Some(_) => Place::Quoted,
        None if code.ends_with(['[', ':']) || code.ends_with("offset") => Place::Duration,
        None => Place::Number,
    }
}

/// The quote that is open behind a piece of a query that begins within this one.
fn quote_after(quote: Option<char>, piece: &str) -> Option<char> {
    let (mut open, mut escaped, mut comment) = (quote, false, false);
    for letter in piece.chars() {
        match (open, letter) {
            _ if escaped => escaped = false,
            _ if comment => comment = letter != '\n',
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(quote), letter) if quote == letter => open = None,
            (None, '"' | '\'' | '`') => open = Some(letter),
            (None, '#') => comment = true,
            (Some(_) | None, _) => {}
        }
    }
    open
}
