//! Whether endpoints answer, asked as the backends ask.

use std::{collections::BTreeMap, time::Duration};

use futures::future::join_all;

use crate::http::{AddressRules, Client, HttpError, Peer};

/// The time that a probe may take; a data plane waits no longer for a connection.
const DEADLINE: Duration = Duration::from_secs(2);

/// One endpoint, and how it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Where the connection goes.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The name in SNI, for which the certificate must be valid; none for plain HTTP.
    pub server_name: Option<String>,
    /// The Host header that the backend sends.
    pub host_header: String,
    /// What is asked.
    pub path: String,
    /// Certificates to trust, PEM; those of the system if none are given.
    pub roots: Option<Vec<u8>>,
}

/// Probes all of these at once, by service and member, and says why one does not answer.
pub async fn round(
    probes: Vec<(String, String, Probe)>,
    rules: &AddressRules,
) -> BTreeMap<(String, String), Result<(), String>> {
    let asked = probes.into_iter().map(async |(service, member, probe)| {
        let answer = probe.ask(rules).await;
        ((service, member), answer)
    });
    join_all(asked).await.into_iter().collect()
}

impl Probe {
    /// Gets the path over a fresh connection. Any answer below 500 is good; its page is not read.
    ///
    /// # Errors
    /// In words, why it is not good.
    pub async fn ask(&self, rules: &AddressRules) -> Result<(), String> {
        let named = |error: HttpError| format!("{}:{}: {error}", self.host, self.port);
        let client = self.peer().and_then(|peer| Client::new(&peer, rules)).map_err(named)?;
        match client.status(&self.path, DEADLINE).await.map_err(named)? {
            ..500 => Ok(()),
            status => Err(format!("{}:{} answered {status}", self.host, self.port)),
        }
    }

    fn peer(&self) -> Result<Peer, HttpError> {
        let scheme = if self.server_name.is_some() { "https" } else { "http" };
        let mut peer = Peer::at(&format!("{scheme}://{}:{}", self.host, self.port))?;
        peer.server_name.clone_from(&self.server_name);
        peer.host_header = Some(self.host_header.clone());
        peer.roots.clone_from(&self.roots);
        peer.keep_alive = false;
        Ok(peer)
    }
}
