//! Parts of a hub for tests.

use kube::{Client, client::Body};
use tower::service_fn;

use super::{Hub, Instance, lease::Leadership};
use crate::{
    clock::Clock,
    http::{AddressRules, Network},
    web::Metrics,
};

/// A client all of whose calls fail.
pub(super) fn no_client() -> Client {
    let nobody = |_: http::Request<Body>| async { Err::<http::Response<Body>, _>(std::io::Error::other("a call")) };
    Client::new(service_fn(nobody), "default")
}

/// A hub of which no part runs.
pub(super) fn hub(client: Client, leadership: Leadership) -> Hub {
    let instance = Instance {
        client,
        network: Network::new(AddressRules::default()),
        clock: Clock::default(),
        name: "hub-1".to_owned(),
        namespace: "cutover-system".to_owned(),
        leader_election: false,
        listener: None,
    };
    Hub::new(instance, "hub".to_owned(), leadership, Metrics::default())
}
