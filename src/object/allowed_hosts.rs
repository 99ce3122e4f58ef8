//! The hosts to which a user's own Service of type ExternalName may lead.
//!
//! Whoever may write a Service could otherwise point the data plane, and the hub's probes, at any name that resolves in the
//! hub cluster.

use std::{collections::BTreeSet, str::FromStr};

use super::host_name::refusal;

/// The hosts to which the Services of one service may lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowedHosts {
    endpoints: BTreeSet<String>,
    patterns: Vec<HostPattern>,
}

/// A host, or with `*.` before it all hosts below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    below: bool,
}

impl AllowedHosts {
    /// The hosts of members' endpoints, and those that the hub was started with.
    pub(crate) fn new(endpoints: impl IntoIterator<Item = String>, patterns: &[HostPattern]) -> Self {
        Self { endpoints: endpoints.into_iter().collect(), patterns: patterns.to_vec() }
    }

    /// No host at all.
    pub(crate) const fn none() -> &'static Self {
        static NONE: AllowedHosts = AllowedHosts { endpoints: BTreeSet::new(), patterns: Vec::new() };
        &NONE
    }

    /// Whether a host, as [`spelled`], is one of them. An address, and a name of the hub cluster, never is.
    pub(crate) fn allow(&self, host: &str) -> bool {
        let is_listed = self.endpoints.contains(host) || self.patterns.iter().any(|pattern| pattern.covers(host));
        is_listed && refusal(host).is_none()
    }
}

impl HostPattern {
    fn covers(&self, host: &str) -> bool {
        match host.strip_suffix(&self.host) {
            Some("") => !self.below,
            Some(rest) => self.below && rest.ends_with('.'),
            None => false,
        }
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, below) = text.strip_prefix("*.").map_or((text, false), |host| (host, true));
        let host = spelled(host);
        match refusal(&host) {
            Some(refusal) => Err(format!(
                "{host:?} {}; write a DNS name such as gateway.example.com, or *.example.com",
                refusal.found()
            )),
            None => Ok(Self { host, below }),
        }
    }
}

/// A name as DNS reads it: case does not count, nor do dots at the end.
pub(crate) fn spelled(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn allowed(host: &str) -> bool {
        let endpoints = ["eu-3.example.com".to_owned(), "x.svc.cluster.local".to_owned(), "169.254.169.254".to_owned()];
        let patterns = patterns(&["*.Example.NET.", "gateway.partner.net"]);
        AllowedHosts::new(endpoints, &patterns).allow(&spelled(host))
    }

    #[test]
    fn a_host_is_allowed_in_every_spelling_and_no_other_is() {
        for host in [
            "eu-3.example.com",
            "EU-3.Example.Com",
            "eu-3.example.com.",
            "eu-3.example.com...",
            "a.example.net",
            "b.A.example.NET.",
            "Gateway.Partner.Net",
        ] {
            assert!(allowed(host), "{host}");
        }
        for host in [
            "",
            ".",
            "example.com",
            "x.eu-3.example.com",
            "eu-3.example.com.evil.org",
            "example.net",
            ".example.net",
            "badexample.net",
            "a..example.net",
            "x.gateway.partner.net",
            "partner.net",
        ] {
            assert!(!allowed(host), "{host}");
        }
    }

    #[test]
    fn the_hub_cluster_and_addresses_are_never_allowed_even_if_they_are_listed() {
        for host in ["x.svc.cluster.local", "X.SVC.cluster.local.", "169.254.169.254", "169.254.169.254."] {
            assert!(!allowed(host), "{host}");
        }
        let nothing = AllowedHosts::none();
        assert!(!nothing.allow("eu-3.example.com"));
    }

    #[test]
    fn a_pattern_is_a_public_name() {
        for (text, found) in [
            ("*", "\"*\" is not a DNS name"),
            ("*.com", "\"com\" is not a DNS name"),
            ("*.*.example.com", "\"*.example.com\" is not a DNS name"),
            ("a.*.example.com", "\"a.*.example.com\" is not a DNS name"),
            ("", "\"\" is not a DNS name"),
            ("10.0.0.1", "\"10.0.0.1\" is an address"),
            ("*.svc", "\"svc\" leads into the hub cluster"),
            ("*.cluster.local.", "\"cluster.local\" leads into the hub cluster"),
        ] {
            let said = text.parse::<HostPattern>().unwrap_err();
            assert_eq!(said, format!("{found}; write a DNS name such as gateway.example.com, or *.example.com"));
        }
    }
}
