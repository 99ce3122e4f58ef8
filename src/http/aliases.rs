//! Names with given addresses, which are not resolved.

use std::{collections::BTreeMap, net::IpAddr};

use futures::future::{BoxFuture, ready};

use super::{Names, network::System};

/// Addresses of some names, like a Pod's `hostAliases`; all other names go to the system's resolver.
#[derive(Debug)]
pub(crate) struct Aliases(BTreeMap<String, IpAddr>);

impl Aliases {
    /// If a name is given twice, the last address counts.
    pub(crate) fn new(aliases: Vec<(String, IpAddr)>) -> Self {
        Self(aliases.into_iter().collect())
    }
}

impl Names for Aliases {
    fn addresses(&self, host: &str) -> BoxFuture<'static, Vec<IpAddr>> {
        match self.0.get(host) {
            Some(address) => Box::pin(ready(vec![*address])),
            None => System.addresses(host),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::http::{AddressRules, Network};

    #[tokio::test]
    async fn an_alias_is_an_address_that_is_checked_like_any_other() {
        let names = Arc::new(Aliases::new(vec![("gateway.eu-1.test".to_owned(), [127, 0, 0, 9].into())]));
        let network = Network::new(AddressRules::default()).with_names(names.clone());
        assert!(network.resolve("gateway.eu-1.test").await.is_err(), "loopback is not allowed");
        let rules = AddressRules::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new());
        let network = Network::new(rules).with_names(names);
        assert_eq!(network.resolve("gateway.eu-1.test").await.unwrap(), [IpAddr::from([127, 0, 0, 9])]);
        assert_eq!(network.resolve("127.0.0.1").await.unwrap(), [IpAddr::from([127, 0, 0, 1])]);
    }
}
