//! The names by which a mesh knows a Service.

/// The Service of this namespace that a host leads to: one name stands for one of the same namespace, and so does the
/// Service's whole name, whatever the domain of the cluster.
pub(crate) fn service_of<'h>(host: &'h str, namespace: &str) -> Option<&'h str> {
    let Some((name, rest)) = host.split_once('.') else { return Some(host) };
    let domain = rest.strip_prefix(namespace)?.strip_prefix(".svc")?;
    (domain.is_empty() || domain.starts_with('.')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_known_by_its_name_and_by_its_whole_name() {
        for host in ["shop", "shop.web.svc", "shop.web.svc.cluster.local", "shop.web.svc.corp.example"] {
            assert_eq!(service_of(host, "web"), Some("shop"), "{host}");
        }
        for host in ["shop.web", "shop.other.svc.cluster.local", "shop.web.svcs", "shop.example.com", "shop.webs.svc"] {
            assert_eq!(service_of(host, "web"), None, "{host}");
        }
    }
}
