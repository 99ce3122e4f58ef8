//! The hosts to which a credential may be sent, as the annotation of its Secret lists them.

use std::fmt;

use reqwest::Url;

/// The port of an entry, and of an address, that names none.
const HTTPS: u16 = 443;

/// A host and a port, in one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    name: String,
    port: u16,
}

impl Host {
    /// Where requests to this address go.
    pub(crate) fn of(address: &Url) -> Option<Self> {
        let name = address.host_str()?.trim_end_matches('.').to_owned();
        Some(Self { name, port: address.port_or_known_default()? })
    }

    /// Whether an annotation lists it. An entry is a host, or a host and a port; whatever else is written lists nothing.
    pub(crate) fn is_listed(&self, annotation: &str) -> bool {
        annotation.split(',').filter_map(|entry| Self::entry(entry.trim())).any(|listed| listed == *self)
    }

    fn entry(text: &str) -> Option<Self> {
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
        text.bytes()
            .all(is_host)
            .then(|| Url::parse(&format!("https://{text}")).ok())
            .flatten()
            .and_then(|url| Self::of(&url))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            HTTPS => f.write_str(&self.name),
            port => write!(f, "{}:{port}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_listed(address: &str, annotation: &str) -> bool {
        Host::of(&Url::parse(address).unwrap()).unwrap().is_listed(annotation)
    }

    #[test]
    fn a_host_is_listed_by_its_name_and_port_in_any_spelling() {
        for annotation in
            ["p.example.com", "a.example.com,p.example.com:443", " P.Example.COM. , b", "p.example.com:443"]
        {
            assert!(is_listed("https://p.example.com/prefix", annotation), "{annotation}");
            assert!(is_listed("https://P.example.com.:443", annotation), "{annotation}");
            assert!(!is_listed("https://p.example.com:8443", annotation), "{annotation}");
        }
        assert!(is_listed("https://[2001:db8::1]:9090", "[2001:DB8:0::1]:9090"));
        assert!(is_listed("https://192.0.2.7", "192.0.2.7"));
    }

    #[test]
    fn nothing_else_lists_a_host() {
        for annotation in [
            "",
            ",",
            "*",
            "*.example.com",
            "example.com",
            "p.example.com evil.example.com",
            "https://p.example.com",
            "me@p.example.com",
            "p.example.com/prefix",
            "p.example.com:80",
            "p.example.com:",
            "p.example.com.evil.com",
        ] {
            let expected = annotation == "p.example.com:";
            assert_eq!(is_listed("https://p.example.com", annotation), expected, "{annotation:?}");
        }
    }

    #[test]
    fn a_host_is_shown_as_it_is_to_be_listed() {
        for (address, shown) in [
            ("https://P.example.com/x", "p.example.com"),
            ("https://p.example.com:9090", "p.example.com:9090"),
            ("https://[2001:db8::1]", "[2001:db8::1]"),
            ("http://p.example.com", "p.example.com:80"),
        ] {
            let host = Host::of(&Url::parse(address).unwrap()).unwrap();
            assert_eq!(host.to_string(), shown);
            assert!(host.is_listed(shown), "{shown}");
        }
    }
}
