//! Texts with variables: `{{ name }}`, replaced and nothing more. There are no loops, conditions or nesting.

/// Why a text with variables cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfilled<'a> {
    /// A variable that is not known.
    Unknown(&'a str),
    /// A `{{` without its `}}`.
    Open,
}

/// Fills a text in; `known` says what a variable stands for.
pub fn fill<S: AsRef<str>>(text: &str, known: impl Fn(&str) -> Option<S>) -> Result<String, Unfilled<'_>> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or(Unfilled::Open)?;
        let name = name.trim();
        filled.push_str(before);
        filled.push_str(known(name).ok_or(Unfilled::Unknown(name))?.as_ref());
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::{Unfilled, fill};

    #[test]
    fn fills_in_what_is_known_and_names_what_is_not() {
        let fill = |text| fill(text, |name| (name == "service").then_some("shop"));
        assert_eq!(fill("{{ service }}.{{service}}.eu-1"), Ok("shop.shop.eu-1".to_owned()));
        assert_eq!(fill("plain }} text"), Ok("plain }} text".to_owned()));
        assert_eq!(fill("{{ services }}"), Err(Unfilled::Unknown("services")));
        assert_eq!(fill("a {{ service"), Err(Unfilled::Open));
    }
}
