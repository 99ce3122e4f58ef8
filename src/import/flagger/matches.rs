//! The requests of an A/B test.

use super::{Provider, canary::Context};
use crate::{
    api::{RequestMatch, matches::FieldMatch},
    import::{
        fields::Fields,
        remarks::{Remarks, shown},
    },
};

/// The value for which a canary cookie of ingress-nginx is meant.
const ALWAYS: &str = "always";

/// Reads `match`: each entry is an alternative, whose conditions must all hold.
pub(super) fn matches(fields: &mut Fields<'_>, context: &Context<'_, '_>, remarks: &mut Remarks) -> Vec<RequestMatch> {
    if fields.has("match") && context.divides_connections() {
        let remedy = "leave it out: with appProtocol tcp connections are divided";
        fields.refuse("match", "a connection carries nothing that could be looked at", remedy, remarks);
    }
    let mut alternatives = fields.each("match", remarks, |fields, remarks| {
        only_of_istio(fields, context, remarks);
        let headers = conditions(fields, "headers", context, remarks);
        let query = conditions(fields, "queryParams", context, remarks);
        let (cookies, headers) = headers.into_iter().partition(|field| is_cookie(field, context.provider));
        RequestMatch { headers, cookies: cookies_of(cookies), query }
    });
    alternatives.retain(|one| *one != RequestMatch::default());
    alternatives
}

/// What a test looks at here is headers, cookies and query parameters.
fn only_of_istio(fields: &mut Fields<'_>, context: &Context<'_, '_>, remarks: &mut Remarks) {
    const OTHERS: [&str; 7] = ["sourceLabels", "uri", "method", "authority", "scheme", "port", "gateways"];
    if context.provider != Provider::Istio {
        fields.lose(&OTHERS, "only Istio looks at it; match a header or a query parameter", remarks);
        return;
    }
    for key in OTHERS {
        if fields.any(key).is_some() {
            let found = "without it more requests would take part in the test";
            fields.refuse(key, found, "choose them by a header or a query parameter", remarks);
        }
    }
}

/// ingress-nginx looks for a cookie by its name, which Flagger writes as the value of the header.
fn is_cookie(field: &FieldMatch, provider: Provider) -> bool {
    provider == Provider::Nginx && field.name.eq_ignore_ascii_case("cookie") && field.exact.is_some()
}

fn cookies_of(headers: Vec<FieldMatch>) -> Vec<FieldMatch> {
    let cookie = |header: FieldMatch| FieldMatch {
        name: header.exact.unwrap_or_default(),
        exact: Some(ALWAYS.to_owned()),
        ..FieldMatch::default()
    };
    headers.into_iter().map(cookie).collect()
}

fn conditions(fields: &mut Fields<'_>, key: &str, context: &Context<'_, '_>, remarks: &mut Remarks) -> Vec<FieldMatch> {
    let conditions = fields.block(key, remarks, |fields, remarks| {
        let names: Vec<String> = fields.names();
        let one = |name: String| {
            let field = fields.block(&name, remarks, |fields, remarks| condition(&name, fields, context, remarks));
            field.flatten()
        };
        names.into_iter().filter_map(one).collect()
    });
    conditions.unwrap_or_default()
}

fn condition(
    name: &str,
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> Option<FieldMatch> {
    let mut take = |key: &str| fields.take::<String>(key, remarks).filter(|text| !text.is_empty());
    let (exact, prefix, suffix, regex) = (take("exact"), take("prefix"), take("suffix"), take("regex"));
    let name = name.to_owned();
    let of_regex = |regex: String| Some(FieldMatch { name: name.clone(), regex: Some(regex), ..FieldMatch::default() });
    match (exact, prefix, suffix, regex) {
        (Some(exact), None, None, None) => Some(FieldMatch { name, exact: Some(exact), ..FieldMatch::default() }),
        (None, Some(prefix), None, None) if context.provider == Provider::Istio => {
            Some(FieldMatch { name, prefix: Some(prefix), ..FieldMatch::default() })
        }
        // Contour's router of Flagger looks for the text anywhere.
        (None, Some(part), None, None) | (None, None, Some(part), None) if context.provider == Provider::Contour => {
            of_regex(format!(".*{}.*", regex::escape(&part)))
        }
        (None, Some(prefix), None, None) => of_regex(format!("{}.*", regex::escape(&prefix))),
        (None, None, Some(suffix), None) => of_regex(format!(".*{}", regex::escape(&suffix))),
        (None, None, None, Some(regex)) => of_regex(regex),
        _ => {
            let found = "has none or several of exact, prefix, suffix and regex";
            remarks.refusals.push(context.of.refusal(
                fields.path(),
                format!("{}: {found}", shown(&name)),
                "keep one of them",
            ));
            None
        }
    }
}
