//! The names that a backend may lead to: public DNS names, never an address, never the hub cluster itself.

use std::net::IpAddr;

/// Why a backend may not lead to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An IP address in any spelling: a certificate and a change of address need a name.
    Address,
    /// The cluster's own zones, and this machine.
    HubCluster,
    /// Not a name that DNS could hold, or one that a search domain would complete.
    NotAName,
}

impl Refusal {
    /// What is wrong, after the name.
    #[must_use]
    pub(crate) const fn found(self) -> &'static str {
        match self {
            Self::Address => "is an address",
            Self::HubCluster => "leads into the hub cluster",
            Self::NotAName => "is not a DNS name",
        }
    }

    /// What would be right.
    #[must_use]
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::Address | Self::HubCluster => "give the DNS name of the member's gateway",
            Self::NotAName => {
                "write lower-case letters, digits, \"-\" and dots, at least two labels, without a dot at the end"
            }
        }
    }
}

/// Why a backend may not lead to this name, if so.
#[must_use]
pub(crate) fn refusal(name: &str) -> Option<Refusal> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with("0x") || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let is_within = |zone: &str| name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
    if name.parse::<IpAddr>().is_ok() || is_number {
        Some(Refusal::Address)
    } else if ["localhost", "cluster.local", "svc"].into_iter().any(is_within) {
        Some(Refusal::HubCluster)
    } else {
        (!is_dns_name(name)).then_some(Refusal::NotAName)
    }
}

fn is_dns_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(fits) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.contains('.') && name.split('.').all(is_label)
}
