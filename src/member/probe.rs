//! Whether endpoints answer requests like those that the routes send them.

use std::{collections::BTreeMap, time::Duration};

use futures::future::join_all;

use crate::http::{Client, HttpError, Network, Peer};

/// The time that a probe may take; a data plane waits no longer for a connection.
const DEADLINE: Duration = Duration::from_secs(2);

/// One endpoint, and how it is probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Where the connection goes.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The name in SNI, for which the certificate must be valid; none for plain HTTP.
    pub server_name: Option<String>,
    /// The Host header that the backend sends.
    pub host_header: String,
    /// The path that is requested.
    pub path: String,
    /// Certificates to trust, PEM. Default: those of the system.
    pub roots: Option<Vec<u8>>,
}

/// Probes all of these at once, by service and member, and says why one does not answer.
pub(crate) async fn round(
    probes: Vec<(String, String, Probe)>,
    network: &Network,
) -> BTreeMap<(String, String), Result<(), String>> {
    let answers = probes.into_iter().map(async |(service, member, probe)| {
        let answer = probe.ask(network).await;
        ((service, member), answer)
    });
    join_all(answers).await.into_iter().collect()
}

impl Probe {
    /// Gets the path over a fresh connection. Any answer below 500 is good; its page is not read.
    ///
    /// # Errors
    /// In words, why it is not good.
    pub(crate) async fn ask(&self, network: &Network) -> Result<(), String> {
        let named = |error: HttpError| format!("{}:{}: {error}", self.host, self.port);
        let client = self.peer().and_then(|peer| Client::new(&peer, network)).map_err(named)?;
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Instant};

    use super::*;
    use crate::http::fixtures::{Manner, Server, loopback, response};

    fn plain(server: &Server) -> Probe {
        Probe {
            host: server.address.ip().to_string(),
            port: server.address.port(),
            server_name: None,
            host_header: "shop.example.com".to_owned(),
            path: "/healthz".to_owned(),
            roots: None,
        }
    }

    fn named(probe: Probe, member: &str) -> (String, String, Probe) {
        ("checkout".to_owned(), member.to_owned(), probe)
    }

    #[tokio::test]
    async fn a_round_says_for_each_whether_it_answers_and_none_delays_the_others() {
        let mut probes = Vec::new();
        let mut servers = Vec::new();
        for status in [200, 302, 404, 499, 500, 503] {
            let server = Server::fixed(status, "page").await;
            probes.push(named(plain(&server), &status.to_string()));
            servers.push(server);
        }
        let hung = Server::start(Manner::Hangs).await;
        let flood = Server::start(Manner::Floods).await;
        probes.push(named(plain(&hung), "hangs"));
        probes.push(named(plain(&flood), "floods"));
        let began = Instant::now();
        let answers = round(probes, &loopback()).await;
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        let bad = |server: &Server, why: &str| Err(format!("{}{why}", server.address));
        for (member, expected) in [
            ("200", Ok(())),
            ("302", Ok(())),
            ("404", Ok(())),
            ("499", Ok(())),
            ("500", bad(&servers[4], " answered 500")),
            ("503", bad(&servers[5], " answered 503")),
            ("hangs", bad(&hung, ": no answer within 2 s")),
            ("floods", Ok(())),
        ] {
            assert_eq!(answers[&("checkout".to_owned(), member.to_owned())], expected, "{member}");
        }
        let request = servers[0].heads.lock().await.join("").to_lowercase();
        assert!(
            request.starts_with("get /healthz http/1.1\r\n") && request.contains("host: shop.example.com\r\n"),
            "{request}"
        );
    }

    #[tokio::test]
    async fn tls_is_spoken_with_the_server_name_and_the_given_authority() {
        let server = Server::tls("eu-3.example.com", Manner::Answers(Arc::new(|_| response(200, "")))).await;
        let mut probe = plain(&server);
        probe.roots = server.certificate.clone().map(String::into_bytes);
        for (name, good) in [(None, false), (Some("eu-1.example.com"), false), (Some("eu-3.example.com"), true)] {
            probe.server_name = name.map(ToOwned::to_owned);
            let answer = probe.ask(&loopback()).await;
            assert_eq!(answer.is_ok(), good, "{name:?}: {answer:?}");
        }
        probe.roots = None;
        assert!(probe.ask(&loopback()).await.is_err(), "the system vouches for no such certificate");
    }

    #[tokio::test]
    async fn each_probe_has_a_connection_of_its_own() {
        let close = Server::fixed(200, "").await;
        let probe = plain(&close);
        for _ in 0..3 {
            probe.ask(&loopback()).await.unwrap();
        }
        assert_eq!(close.connections(), 3);
    }
}
