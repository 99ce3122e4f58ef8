//! Which addresses the hub may call.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use ipnet::IpNet;
use tokio::net::lookup_host;

use super::{HttpError, sanitise};

/// Addresses of a name that are taken; a name with more is as well served by the first.
const ADDRESSES: usize = 64;

/// Which addresses the hub may call. Addresses come from Secrets and members, so those that lead back into the hub or its
/// machine are refused unless they were allowed at the start.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    allowed: Arc<[IpNet]>,
    hub: Arc<[IpAddr]>,
    aliases: Arc<BTreeMap<String, IpAddr>>,
}

impl AddressRules {
    /// `allowed` is what `--allow-addresses` names; `hub` are the addresses of the hub's own API server.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>, hub: Vec<IpAddr>) -> Self {
        Self { allowed: allowed.into(), hub: hub.into_iter().map(canonical).collect(), aliases: Arc::default() }
    }

    /// The same, with addresses for names that the system's resolver is not asked for, as a Pod's `hostAliases`.
    #[must_use]
    pub fn with_aliases(self, aliases: BTreeMap<String, IpAddr>) -> Self {
        Self { aliases: aliases.into(), ..self }
    }

    /// Whether `host`, which leads to `address`, may be called.
    ///
    /// # Errors
    /// [`HttpError::AddressNotAllowed`] with the kind of address.
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), HttpError> {
        let meant = canonical(address);
        if self.allowed.iter().any(|net| net.contains(&meant)) {
            return Ok(());
        }
        let kind = if self.hub.contains(&meant) { Some("the hub's own API server") } else { special(meant) };
        match kind {
            Some(kind) => Err(HttpError::AddressNotAllowed { host: sanitise(host), address, kind }),
            None => Ok(()),
        }
    }
}

/// The addresses of a name or literal, each of them allowed: one that is not refuses the whole name, because the next
/// connection might take it. Asks the system's resolver, the hosts file included, unless the name has an alias.
///
/// # Errors
/// When the name leads nowhere, or to an address that the hub may not call.
pub async fn resolve(host: &str, rules: &AddressRules) -> Result<Vec<IpAddr>, HttpError> {
    let not_resolved = || HttpError::NotResolved(sanitise(host));
    let found: Vec<IpAddr> = match rules.aliases.get(host) {
        Some(address) => vec![*address],
        None => lookup_host((host, 0)).await.map_err(|_| not_resolved())?.map(|socket| socket.ip()).collect(),
    };
    let mut addresses = Vec::new();
    for address in found {
        rules.check(host, address)?;
        if addresses.len() < ADDRESSES && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(not_resolved()) } else { Ok(addresses) }
}

/// The IPv4 address that an IPv6 one stands for, mapped or by NAT64; any other as it is.
fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                Ipv4Addr::new(a, b, c, d).into()
            }
            _ => v6.into(),
        },
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The kind of an address that no member has.
fn special(address: IpAddr) -> Option<&'static str> {
    const METADATA: [IpAddr; 3] = [
        IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    ];
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    [
        (METADATA.contains(&address), "a metadata address"),
        (address.is_loopback(), "loopback"),
        (link_local, "link-local"),
        (address.is_unspecified(), "unspecified"),
        (address.is_multicast() || address == Ipv4Addr::BROADCAST, "multicast"),
    ]
    .into_iter()
    .find_map(|(is, kind)| is.then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(rules: &AddressRules, address: &str) -> Option<&'static str> {
        match rules.check("name", address.parse().unwrap()) {
            Ok(()) => None,
            Err(HttpError::AddressNotAllowed { kind, .. }) => Some(kind),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn addresses_that_lead_back_are_refused_in_every_form() {
        let rules = AddressRules::new(Vec::new(), vec!["10.0.0.1".parse().unwrap()]);
        for (address, expected) in [
            ("127.0.0.1", Some("loopback")),
            ("127.8.8.8", Some("loopback")),
            ("::1", Some("loopback")),
            ("::ffff:127.0.0.1", Some("loopback")),
            ("64:ff9b::7f00:1", Some("loopback")),
            ("169.254.0.7", Some("link-local")),
            ("fe80::1", Some("link-local")),
            ("169.254.169.254", Some("a metadata address")),
            ("::ffff:169.254.169.254", Some("a metadata address")),
            ("fd00:ec2::254", Some("a metadata address")),
            ("100.100.100.200", Some("a metadata address")),
            ("0.0.0.0", Some("unspecified")),
            ("::", Some("unspecified")),
            ("224.0.0.1", Some("multicast")),
            ("ff02::1", Some("multicast")),
            ("255.255.255.255", Some("multicast")),
            ("10.0.0.1", Some("the hub's own API server")),
            ("::ffff:10.0.0.1", Some("the hub's own API server")),
            ("10.0.0.2", None),
            ("192.168.1.1", None),
            ("2001:db8::1", None),
        ] {
            assert_eq!(kind(&rules, address), expected, "{address}");
        }
    }

    #[test]
    fn what_was_allowed_at_the_start_is_allowed() {
        let nets = vec!["127.0.0.0/8".parse().unwrap(), "10.0.0.0/24".parse().unwrap()];
        let rules = AddressRules::new(nets, vec!["10.0.0.1".parse().unwrap()]);
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "10.0.0.1"] {
            assert_eq!(kind(&rules, address), None, "{address}");
        }
        assert_eq!(kind(&rules, "169.254.169.254"), Some("a metadata address"));
    }

    #[tokio::test]
    async fn names_are_judged_by_what_they_lead_to() {
        for host in ["localhost", "0x7f000001", "127.1"] {
            let error = resolve(host, &AddressRules::default()).await.unwrap_err();
            assert!(matches!(error, HttpError::AddressNotAllowed { kind: "loopback", .. }), "{host}: {error}");
        }
        // Whether a resolver knows this form depends on the machine; it is refused either way.
        assert!(resolve("localhost.", &AddressRules::default()).await.is_err());
        let loopback = AddressRules::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new());
        assert_eq!(resolve("127.0.0.1", &loopback).await.unwrap(), [IpAddr::from([127, 0, 0, 1])]);
    }

    #[tokio::test]
    async fn an_alias_is_an_address_that_is_checked_like_any_other() {
        let aliases = BTreeMap::from([("gateway.eu-1.test".to_owned(), IpAddr::from([127, 0, 0, 9]))]);
        let rules = AddressRules::default().with_aliases(aliases.clone());
        assert!(resolve("gateway.eu-1.test", &rules).await.is_err(), "loopback is not allowed");
        let rules = AddressRules::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()).with_aliases(aliases);
        assert_eq!(resolve("gateway.eu-1.test", &rules).await.unwrap(), [IpAddr::from([127, 0, 0, 9])]);
        assert!(resolve("gateway.eu-2.test", &rules).await.is_err());
    }

    #[tokio::test]
    async fn a_refusal_names_the_host_the_address_and_the_remedy() {
        assert_eq!(
            resolve("127.0.0.1", &AddressRules::default()).await.unwrap_err().to_string(),
            "AddressNotAllowed: 127.0.0.1 is 127.0.0.1, loopback; give the member's own address, \
             or start the hub with --allow-addresses"
        );
    }
}
