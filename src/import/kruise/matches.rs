//! Requests that are chosen by what they carry.

use crate::{
    api::{RequestMatch, matches::FieldMatch},
    import::{
        fields::Fields,
        remarks::{Remarks, shown},
    },
};

/// The header that means a cookie, for a canary Ingress.
const BY_COOKIE: &str = "canary-by-cookie";
/// The value for which a canary cookie is meant.
const ALWAYS: &str = "always";

/// Reads `matches`: each entry is an alternative, whose conditions must all hold.
pub(super) fn matches(fields: &mut Fields<'_>, is_ingress: bool, remarks: &mut Remarks) -> Vec<RequestMatch> {
    fields.each("matches", remarks, |fields, remarks| {
        if fields.any("path").is_some() {
            fields.refuse(
                "path",
                "a step chooses requests by no path",
                "choose them by a header or a query parameter",
                remarks,
            );
        }
        let headers = fields.each("headers", remarks, condition).into_iter().flatten();
        let (cookies, headers) = headers.partition(|field: &FieldMatch| is_ingress && field.name == BY_COOKIE);
        let query = fields.each("queryParams", remarks, condition).into_iter().flatten().collect();
        RequestMatch { headers, cookies: cookies_of(cookies), query }
    })
}

fn cookies_of(headers: Vec<FieldMatch>) -> Vec<FieldMatch> {
    let cookie = |header: FieldMatch| FieldMatch {
        name: header.exact.unwrap_or_default(),
        exact: Some(ALWAYS.to_owned()),
        ..FieldMatch::default()
    };
    headers.into_iter().map(cookie).collect()
}

fn condition(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<FieldMatch> {
    let mut text = |key: &str| fields.take::<String>(key, remarks);
    let (kind, name, value) = (text("type"), text("name")?, text("value")?);
    match kind.as_deref() {
        None | Some("Exact") => Some(FieldMatch { name, exact: Some(value), ..FieldMatch::default() }),
        Some("RegularExpression") => Some(FieldMatch { name, regex: Some(value), ..FieldMatch::default() }),
        Some(other) => {
            fields.refuse(
                "type",
                format!("{:?} is not known", shown(other)),
                "write Exact or RegularExpression",
                remarks,
            );
            None
        }
    }
}
