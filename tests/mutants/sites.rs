//! What stands in the copy instead of a place: the place itself as long as none of its mutants is alive.

use crate::{
    listed::{Genre, Mutant},
    places::{Bytes, CHAIN, Kind, Place},
};

/// Replaces `bytes` by `parts`, which hold the original where it is needed.
#[derive(Clone, Debug)]
pub struct Site {
    pub bytes: Bytes,
    pub parts: Vec<Part>,
    /// The numbers of its mutants.
    pub mutants: Vec<u32>,
}

#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    /// A piece of the source, with the sites inside.
    Source(Bytes),
    /// What only this mutant needs: an error of the compiler in it is the mutant's own.
    Own(u32, String),
}

/// The mutants of one place, with their numbers.
pub type Laid<'a> = [(u32, &'a Mutant)];

/// Why a mutant of this place cannot be laid, although it might compile by itself.
pub fn refused(place: &Place, mutant: &Mutant) -> Option<&'static str> {
    let beside_let = matches!(place.kind, Kind::Arm { chain: true, .. }) && mutant.genre == Genre::MatchArmGuard;
    place.fixed.or(beside_let.then_some(CHAIN))
}

/// The site of a place; `source` is the file.
pub fn site(place: &Place, mutants: &Laid<'_>, source: &str) -> Site {
    let (bytes, parts) = match &place.kind {
        Kind::Body { block } => body(block, mutants),
        Kind::Binary { left, operator, right } => {
            (left.start..right.end, binary(left, &source[operator.clone()], right, mutants))
        }
        Kind::Unary { operator, operand } => unary(operator, &source[operator.clone()], operand, mutants),
        Kind::Arm { pattern, guard, chain, .. } => arm(pattern, guard.as_ref(), *chain, mutants),
        Kind::Field { whole, name, value, base } => (whole.clone(), field(name, value, base, mutants)),
    };
    Site { bytes, parts, mutants: mutants.iter().map(|(number, _)| *number).collect() }
}

/// A function that may ask for a switch: without its `const`.
pub fn not_const(token: &Bytes, mutants: Vec<u32>) -> Site {
    Site { bytes: token.clone(), parts: Vec::new(), mutants }
}

fn on(number: u32) -> String {
    format!("crate::mutants::on({number})")
}

fn text(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}

/// `if on(1) { FIRST } else if on(2) { SECOND } else { original }`.
fn choice(mutants: &Laid<'_>, mutated: impl Fn(&Mutant) -> Vec<PartOf>, original: Vec<Part>) -> Vec<Part> {
    let mut parts = Vec::new();
    for (number, mutant) in mutants {
        parts.push(text(format!("if {} {{ ", on(*number))));
        parts.extend(mutated(mutant).into_iter().map(|part| match part {
            PartOf::Own(own) => Part::Own(*number, own),
            PartOf::Source(bytes) => Part::Source(bytes),
        }));
        parts.push(text(" } else "));
    }
    parts.push(text("{ "));
    parts.extend(original);
    parts.push(text(" }"));
    parts
}

/// A part of a mutant whose number is not known yet.
enum PartOf {
    Own(String),
    Source(Bytes),
}

fn own(text: impl Into<String>) -> Vec<PartOf> {
    vec![PartOf::Own(text.into())]
}

type Replaced = (Bytes, Vec<Part>);

fn body(block: &Bytes, mutants: &Laid<'_>) -> Replaced {
    let parts = mutants.iter().map(|(number, mutant)| {
        Part::Own(*number, format!(" if {} {{ return {}; }}", on(*number), mutant.replacement))
    });
    (block.start + 1..block.start + 1, parts.collect())
}

fn binary(left: &Bytes, operator: &str, right: &Bytes, mutants: &Laid<'_>) -> Vec<Part> {
    let (l, r) = (|| Part::Source(left.clone()), || Part::Source(right.clone()));
    match (operator, mutants) {
        // The other comparison is the opposite, and the right side of `&&` and `||` is needed in opposite cases: a chain
        // of these stands in the copy once.
        ("==" | "!=", [(number, _)]) => {
            vec![text("(("), l(), text(format!(" {operator} ")), r(), text(format!(") != {})", on(*number)))]
        }
        ("&&" | "||", [(number, _)]) => {
            let needed = if operator == "&&" { "!=" } else { "==" };
            let start = format!("; if left {needed} {} {{ ", on(*number));
            vec![text("({ let left: bool = "), l(), text(start), r(), text(" } else { left } })")]
        }
        ("<" | ">" | "<=" | ">=", _) => {
            let compared = |with: &str| format!("*left {with} *right");
            let original = vec![text(compared(operator))];
            let choice = choice(mutants, |mutant| own(compared(&mutant.replacement)), original);
            bound(vec![text("(&("), l(), text("), &("), r(), text("))")], "(left, right)", choice)
        }
        _ if operator.ends_with('=') && !matches!(operator, "==" | "!=") => {
            let place = |operator: &str| format!(" {operator} right;");
            let original = vec![l(), text(place(operator))];
            let mutated = |mutant: &Mutant| vec![PartOf::Source(left.clone()), PartOf::Own(place(&mutant.replacement))];
            bound(vec![r()], "right", choice(mutants, mutated, original))
        }
        _ => {
            let computed = |with: &str| format!("left {with} right");
            let original = vec![text(computed(operator))];
            let choice = choice(mutants, |mutant| own(computed(&mutant.replacement)), original);
            bound(vec![text("("), l(), text(", "), r(), text(")")], "(left, right)", choice)
        }
    }
}

/// `(match VALUE { NAME => CHOICE })`: temporaries of the value live as long as it is used.
fn bound(value: Vec<Part>, name: &str, choice: Vec<Part>) -> Vec<Part> {
    let start = std::iter::once(text("(match "));
    start.chain(value).chain([text(format!(" {{ {name} => "))]).chain(choice).chain([text(" })")]).collect()
}

fn unary(operator: &Bytes, sign: &str, operand: &Bytes, mutants: &Laid<'_>) -> Replaced {
    let choice =
        choice(mutants, |mutant| own(format!("{}value", mutant.replacement)), vec![text(format!("{sign}value"))]);
    (operator.start..operand.end, bound(vec![Part::Source(operand.clone())], "value", choice))
}

fn arm(pattern: &Bytes, guard: Option<&Bytes>, chain: bool, mutants: &Laid<'_>) -> Replaced {
    let number = |wanted: Genre, with: &str| {
        let found = mutants
            .iter()
            .find(|(_, mutant)| mutant.genre == wanted && (with.is_empty() || mutant.replacement == with));
        found.map(|(number, _)| on(*number))
    };
    let deleted = number(Genre::MatchArm, "").map(|on| format!("!{on}"));
    let Some(guard) = guard else {
        let parts = vec![text(format!(" if {}", deleted.unwrap_or_else(|| "true".to_owned())))];
        return (pattern.end..pattern.end, parts);
    };
    let deleted = deleted.map_or_else(String::new, |not| format!("{not} && "));
    if chain {
        return (guard.clone(), vec![text(deleted), Part::Source(guard.clone())]);
    }
    let always = number(Genre::MatchArmGuard, "true").unwrap_or_else(|| "false".to_owned());
    let never = number(Genre::MatchArmGuard, "false").unwrap_or_else(|| "false".to_owned());
    let start = text(format!("{deleted}({always} || (!{never} && ("));
    (guard.clone(), vec![start, Part::Source(guard.clone()), text(")))")])
}

fn field(name: &str, value: &Bytes, base: &Bytes, mutants: &Laid<'_>) -> Vec<Part> {
    let of_base =
        |_: &Mutant| vec![PartOf::Own("(".to_owned()), PartOf::Source(base.clone()), PartOf::Own(format!(").{name}"))];
    let choice = choice(mutants, of_base, vec![Part::Source(value.clone())]);
    std::iter::once(text(format!("{name}: "))).chain(choice).collect()
}
