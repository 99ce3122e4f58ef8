//! When a bearer token ends, as far as it says so itself.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// The claim `exp` of a JSON Web Token, such as a service account's. Nothing vouches for it: it serves to warn in time,
/// and the API server alone decides.
pub(super) fn expiry(token: &str) -> Option<Timestamp> {
    let mut parts = token.split('.');
    let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let mut standard = claims.replace('-', "+").replace('_', "/");
    standard.extend(std::iter::repeat_n('=', (4 - standard.len() % 4) % 4));
    let bytes: ByteString = serde_json::from_value(json!(standard)).ok()?;
    let claims: Value = serde_json::from_slice(&bytes.0).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_web_token_that_says_so_has_an_end() {
        // {"exp":1798761600,"sub":"a?b>c~~"}: in base64url with `-`, `_` and without padding.
        let claims = "eyJleHAiOjE3OTg3NjE2MDAsInN1YiI6ImE_Yj5jfn4ifQ";
        let end = "2027-01-01T00:00:00Z".parse().ok();
        for (token, expected) in [
            (format!("eyJhbGciOiJSUzI1NiJ9.{claims}.c2ln"), end),
            (format!("eyJhbGciOiJSUzI1NiJ9.{claims}"), None),
            (format!("a.{claims}.b.c"), None),
            ("a.eyJzdWIiOiJhIn0.b".to_owned(), None),
            ("a.eyJleHAiOjFlOTl9.b".to_owned(), None),
            ("a.!!.b".to_owned(), None),
            ("plain".to_owned(), None),
        ] {
            assert_eq!(expiry(&token), expected, "{token}");
        }
    }
}
