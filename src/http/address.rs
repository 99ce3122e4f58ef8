//! The addresses that the hub may call.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use ipnet::IpNet;

use super::{HttpError, sanitise};

/// The addresses that the hub may call. Addresses come from Secrets and members, so those of the hub or its machine are
/// refused unless `--allow-addresses` permits them.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    allowed: Arc<[IpNet]>,
    hub: Arc<[IpAddr]>,
    services: Arc<[IpNet]>,
}

impl AddressRules {
    /// `allowed` are the networks of `--allow-addresses`; `hub` are the addresses of the hub's own API server.
    pub fn new(allowed: Vec<IpNet>, hub: Vec<IpAddr>) -> Self {
        Self { allowed: allowed.into(), hub: hub.into_iter().map(canonical).collect(), services: Arc::default() }
    }

    /// The same rules, which also refuse the addresses of the hub cluster's Services.
    #[must_use]
    pub fn with_services(self, services: Vec<IpNet>) -> Self {
        Self { services: services.into(), ..self }
    }

    /// Checks that `host`, which resolves to `address`, may be called.
    ///
    /// # Errors
    /// [`HttpError::AddressNotAllowed`] with the kind of address.
    pub(crate) fn check(&self, host: &str, address: IpAddr) -> Result<(), HttpError> {
        let meant = canonical(address);
        if self.allowed.iter().any(|net| net.contains(&meant)) {
            return Ok(());
        }
        let own = [
            (self.hub.contains(&meant), "the hub's own API server"),
            (self.services.iter().any(|net| net.contains(&meant)), "a Service of the hub cluster"),
        ];
        match first_of(own).or_else(|| special(meant)) {
            Some(kind) => Err(HttpError::AddressNotAllowed { host: sanitise(host), address, kind }),
            None => Ok(()),
        }
    }
}

/// The IPv4 address that an IPv6 address leads to; any other address unchanged. Besides mapped addresses these are NAT64
/// (RFC 6052, and RFC 8215 for local use), 6to4 (RFC 3056), and addresses that are compatible with IPv4 (RFC 4291, 2.5.5.1).
fn canonical(address: IpAddr) -> IpAddr {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::from(Ipv4Addr::new(a, b, c, d))
    };
    match address.to_canonical() {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] | [0x2002, high, low, ..] => {
                v4(high, low)
            }
            [0, 0, 0, 0, 0, 0, high, low] if high > 0 => v4(high, low),
            _ => v6.into(),
        },
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Where machines of clouds read their credentials and configuration; other addresses of 169.254.0.0/16 are link-local.
const METADATA: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), // Alibaba
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),   // Azure
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),     // Oracle
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), // AWS
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), // Google
];

/// The kind of an address that no member can have, such as loopback.
fn special(address: IpAddr) -> Option<&'static str> {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    first_of([
        (METADATA.contains(&address), "a metadata address"),
        (address.is_loopback(), "loopback"),
        (link_local, "link-local"),
        (address.is_unspecified(), "unspecified"),
        (address.is_multicast() || address == Ipv4Addr::BROADCAST, "multicast"),
    ])
}

fn first_of<const N: usize>(kinds: [(bool, &'static str); N]) -> Option<&'static str> {
    kinds.into_iter().find_map(|(is, kind)| is.then_some(kind))
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
            ("168.63.129.16", Some("a metadata address")),
            ("192.0.0.192", Some("a metadata address")),
            ("fd20:ce::254", Some("a metadata address")),
            ("64:ff9b:1::a9fe:a9fe", Some("a metadata address")),
            ("2002:a9fe:a9fe::1", Some("a metadata address")),
            ("2002:7f00:1::", Some("loopback")),
            ("::169.254.169.254", Some("a metadata address")),
            ("2002:a00:1::5", Some("the hub's own API server")),
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
    fn services_of_the_hub_cluster_are_refused_in_every_form() {
        let nets = vec!["10.96.0.0/16".parse().unwrap(), "fd00:10:96::/112".parse().unwrap()];
        let rules = AddressRules::new(vec!["10.96.7.7/32".parse().unwrap()], Vec::new()).with_services(nets);
        for (address, expected) in [
            ("10.96.0.1", Some("a Service of the hub cluster")),
            ("10.96.255.255", Some("a Service of the hub cluster")),
            ("::ffff:10.96.0.1", Some("a Service of the hub cluster")),
            ("fd00:10:96::a", Some("a Service of the hub cluster")),
            ("10.96.7.7", None),
            ("10.97.0.1", None),
            ("fd00:10:97::a", None),
            ("127.0.0.1", Some("loopback")),
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
}
