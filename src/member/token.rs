//! What a bearer token says of itself, as far as it is a JSON Web Token. Nothing vouches for it: it serves to renew or warn
//! in time, and the API server alone decides.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use regex::Regex;
use serde_json::{Value, json};

use crate::api::name::{LABEL, SUBDOMAIN};

/// An API server makes no token that lives for less.
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);
/// Whoever copies a token has it until it ends: `cutover member kubeconfig` makes none that lives longer either.
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);

/// When it ends: the claim `exp`.
pub(super) fn expiry(token: &str) -> Option<Timestamp> {
    time(&claims(token)?, "exp")
}

/// A service account of a member. Its names can stand in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ServiceAccount {
    /// From the claim `sub` of its tokens: `system:serviceaccount:NAMESPACE:NAME`.
    fn of(subject: &str) -> Option<Self> {
        let (namespace, name) = subject.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        let fits = |text: &str, most, pattern| {
            text.len() <= most && Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
        };
        let known = fits(namespace, 63, LABEL) && fits(name, 253, SUBDOMAIN);
        known.then(|| Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A token that another one of the same service account can replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Renewable {
    /// Whose it is.
    pub account: ServiceAccount,
    issued: Timestamp,
    expires: Timestamp,
}

impl Renewable {
    /// A token that says whose it is, and from when to when it lives.
    pub(super) fn of(token: &str) -> Option<Self> {
        let claims = claims(token)?;
        let account = ServiceAccount::of(claims["sub"].as_str()?)?;
        let (issued, expires) = (time(&claims, "iat")?, time(&claims, "exp")?);
        (issued < expires).then_some(Self { account, issued, expires })
    }

    /// When it is to be renewed: when two thirds of its life have passed.
    pub(super) fn due(&self) -> Timestamp {
        self.issued + self.life() / 3 * 2
    }

    /// For how long its successor shall live: as long as it does itself, within what is allowed.
    pub(super) fn lifetime(&self) -> SignedDuration {
        self.life().clamp(SHORTEST, LONGEST)
    }

    /// It belongs to the same service account and ends later.
    pub(super) fn succeeds(&self, earlier: &Self) -> bool {
        self.account == earlier.account && self.expires > earlier.expires
    }

    fn life(&self) -> SignedDuration {
        self.expires.duration_since(self.issued)
    }
}

/// The claims of a JSON Web Token.
fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let mut standard = claims.replace('-', "+").replace('_', "/");
    standard.extend(std::iter::repeat_n('=', (4 - standard.len() % 4) % 4));
    let bytes: ByteString = serde_json::from_value(json!(standard)).ok()?;
    serde_json::from_slice(&bytes.0).ok()
}

fn time(claims: &Value, name: &str) -> Option<Timestamp> {
    Timestamp::from_second(claims[name].as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::fixtures::{account_token, token};

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

    #[test]
    fn a_token_is_renewed_when_two_thirds_of_its_life_have_passed_and_for_as_long_as_it_lives() {
        let (minute, day) = (60, 24 * 60 * 60);
        for (life, due, lifetime) in [
            (10 * minute, 400, 10 * minute),
            (7 * day, 403_200, 7 * day),
            (3, 2, 10 * minute),
            (365 * day, 21_024_000, 30 * day),
        ] {
            let found = Renewable::of(&account_token(1_700_000_000, 1_700_000_000 + life)).unwrap();
            assert_eq!(found.account.to_string(), "cutover/cutover-member");
            assert_eq!(found.due().as_second() - 1_700_000_000, due, "{life}");
            assert_eq!(found.lifetime().as_secs(), lifetime, "{life}");
        }
    }

    #[test]
    fn only_tokens_of_service_accounts_that_say_how_long_they_live_can_be_renewed() {
        let subject = |subject: &str| json!({"sub": subject, "iat": 1, "exp": 600});
        let mut many = "system:serviceaccount:cutover:".to_owned();
        many.push_str(&"a".repeat(254));
        for claims in [
            subject("system:serviceaccount:cutover"),
            subject("system:serviceaccount::cutover-member"),
            subject("system:serviceaccount:cutover:cutover-member:x"),
            subject("system:serviceaccount:cut.over:cutover-member"),
            subject("system:serviceaccount:cutover:../../secrets"),
            subject("system:serviceaccount:cutover:a%2fb"),
            subject("system:serviceaccount:cutover:a\n"),
            subject("system:serviceaccount:Cutover:a"),
            subject("system:node:a"),
            subject(&many),
            json!({"sub": 7, "iat": 1, "exp": 600}),
            json!({"sub": "system:serviceaccount:a:b", "exp": 600}),
            json!({"sub": "system:serviceaccount:a:b", "iat": 1}),
            json!({"sub": "system:serviceaccount:a:b", "iat": 600, "exp": 600}),
            json!({"sub": "system:serviceaccount:a:b", "iat": i64::MIN, "exp": i64::MAX}),
            json!({"sub": "system:serviceaccount:a:b", "iat": 0.5, "exp": 600}),
            json!([]),
        ] {
            assert_eq!(Renewable::of(&token(&claims)), None, "{claims}");
        }
        assert!(Renewable::of(&token(&subject("system:serviceaccount:cutover:a.b-c"))).is_some());
    }

    #[test]
    fn the_longest_life_that_can_be_said_has_a_due_time() {
        let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let found = Renewable::of(&account_token(first, last)).unwrap();
        assert!(found.due() < Timestamp::MAX && found.lifetime() == LONGEST);
    }
}
