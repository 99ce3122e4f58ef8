//! Queries with variables: plain substitution, escaped by type.

use std::borrow::Cow;

use crate::{
    api::{
        Duration,
        template::{Unfilled, fill},
    },
    http::sanitise,
};

/// What the variables of a query stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variables<'a> {
    /// `{{ service }}`, and `{{ service.word }}` with `_` for all but letters and digits.
    pub service: &'a str,
    /// `{{ services }}`: all services of the rollout, as a regular expression.
    pub services: &'a str,
    /// `{{ namespace }}`: the rollout's, and `{{ namespace.word }}`.
    pub namespace: &'a str,
    /// `{{ member }}`.
    pub member: &'a str,
    /// `{{ backend }}`: the Service that routes name. The one under `existing`, else `<service>-<member>`, and in service
    /// mode `<service>-primary` or `<service>-canary`. Also `{{ backend.word }}`.
    pub backend: &'a str,
    /// `{{ window }}`, as a PromQL duration.
    pub window: Duration,
}

/// The variable for all services.
const SERVICES: &str = "services";

/// Why a template is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// A variable that does not exist.
    #[error(
        "{{{{ {0} }}}} is not a variable; there are service, services, namespace, member, backend, window, service.word, namespace.word and backend.word"
    )]
    Unknown(String),
    /// A `{{` without its `}}`.
    #[error("a {{{{ without its }}}}")]
    Open,
}

/// Fills in a template. Names are escaped for a quoted PromQL string, where they belong.
///
/// # Errors
/// When a variable is not known or not closed.
pub(crate) fn render(template: &str, variables: &Variables<'_>) -> Result<String, TemplateError> {
    fill(template, |name| value(name, variables)).map_err(|unfilled| match unfilled {
        Unfilled::Unknown(name) => TemplateError::Unknown(sanitise(name)),
        Unfilled::Open => TemplateError::Open,
    })
}

fn value<'a>(name: &str, variables: &Variables<'a>) -> Option<Cow<'a, str>> {
    match name {
        "service" => Some(escape(variables.service)),
        SERVICES => Some(variables.services.into()),
        "namespace" => Some(escape(variables.namespace)),
        "member" => Some(escape(variables.member)),
        "backend" => Some(escape(variables.backend)),
        "window" => Some(variables.window.to_string().into()),
        "service.word" => Some(word(variables.service).into()),
        "namespace.word" => Some(word(variables.namespace).into()),
        "backend.word" => Some(word(variables.backend).into()),
        _ => None,
    }
}

/// The query is for all services at once, and gives a series for each, with the label `service`.
pub(crate) fn is_for_all_services(template: &str) -> bool {
    let variables = template.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    variables.map(|(name, _)| name.trim()).any(|name| name == SERVICES)
}

/// What `{{ services }}` stands for: a regular expression for exactly these names, in a quoted PromQL string.
pub(crate) fn alternatives<'a>(services: impl IntoIterator<Item = &'a String>) -> String {
    services.into_iter().map(|name| escape(name)).collect::<Vec<_>>().join("|")
}

/// A name as Skipper makes it part of a route's: letters, digits and `_`.
fn word(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect()
}

/// For a string in double or single quotes; a control character ends no string.
fn escape(name: &str) -> Cow<'_, str> {
    if name.chars().all(|character| character.is_ascii_alphanumeric() || "-._".contains(character)) {
        return name.into();
    }
    name.escape_default().to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        let window = Duration::from_secs(90);
        let variables = Variables {
            service: "checkout",
            services: "checkout|shop-1",
            namespace: "shop",
            member: "eu-3",
            backend: "checkout-eu-3",
            window,
        };
        render(template, &variables).map_err(|error| error.to_string())
    }

    #[test]
    fn every_variable_is_filled_in() {
        assert_eq!(
            filled(r#"sum(increase(x{s="{{ service }}",n="{{namespace}}",m=~"{{ member }}.*"}[{{ window }}]))"#),
            Ok(r#"sum(increase(x{s="checkout",n="shop",m=~"eu-3.*"}[1m30s]))"#.to_owned())
        );
        let others = "x{a=~'{{ services }}',b='{{ backend }}',c='{{ service.word }}',d='{{ namespace.word }}'}";
        assert_eq!(filled(others), Ok("x{a=~'checkout|shop-1',b='checkout-eu-3',c='checkout',d='shop'}".to_owned()));
        assert_eq!(filled("{{ backend }} {{ backend.word }}"), Ok("checkout-eu-3 checkout_eu_3".to_owned()));
    }

    #[test]
    fn a_query_for_all_services_names_each() {
        let query = r#"sum by (service) (x{service=~"{{ services }}"})"#;
        assert_eq!(filled(query), Ok(r#"sum by (service) (x{service=~"checkout|shop-1"})"#.to_owned()));
        assert!(is_for_all_services(query) && is_for_all_services("{{services}}"));
        assert!(!is_for_all_services("services{s=\"{{ service }}\"}"));
        assert_eq!(alternatives(&["checkout".to_owned(), "a\"b".to_owned()]), "checkout|a\\\"b");
    }

    #[test]
    fn braces_of_a_selector_are_no_variable() {
        assert_eq!(filled(r#"up{job="a"}"#), Ok(r#"up{job="a"}"#.to_owned()));
    }

    #[test]
    fn unknown_and_open_variables_are_refused() {
        let unknown = "{{ interval }} is not a variable; there are service, services, namespace, member, backend, window, service.word, namespace.word and backend.word";
        assert_eq!(filled("rate(x[{{ interval }}])"), Err(unknown.to_owned()));
        assert_eq!(filled("rate(x[{{ window ]))"), Err("a {{ without its }}".to_owned()));
        assert!(filled("{{}}").is_err());
    }

    #[test]
    fn a_hostile_name_stays_within_its_quotes() {
        let window = Duration::from_secs(60);
        let variables =
            Variables { service: "a\"} or vector(1)\n", services: "", namespace: "", member: "", backend: "", window };
        assert_eq!(render("{{ service }}", &variables), Ok("a\\\"} or vector(1)\\n".to_owned()));
    }
}
