//! In-process servers for tests: real sockets on loopback, honest or hostile.

use std::{
    future::pending,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::Mutex,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer},
};

use super::{AddressRules, Network, install_crypto};

/// What a server does with each connection.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Answers every request with the result of this function of the request's head.
    Answers(Arc<dyn Fn(&str) -> String + Send + Sync>),
    /// Accepts, reads, and never answers.
    Hangs,
    /// Starts an answer and sends one byte at a time, for ever.
    Trickles,
    /// Sends 512 MiB.
    Floods,
    /// Sends something other than HTTP.
    Babbles,
}

/// A server, and the heads of the requests that it got.
pub(crate) struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// The heads of all requests, in order, each with its body.
    pub heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    /// Its certificate, PEM, if it uses TLS.
    pub certificate: Option<String>,
}

impl Server {
    /// Plain HTTP.
    pub(crate) async fn start(manner: Manner) -> Self {
        Self::listen(manner, None).await
    }

    /// Answers everything with this status and body.
    pub(crate) async fn fixed(status: u16, body: &str) -> Self {
        let answer = response(status, body);
        Self::start(Manner::Answers(Arc::new(move |_| answer.clone()))).await
    }

    /// HTTPS with a certificate for `name` only.
    pub(crate) async fn tls(name: &str, manner: Manner) -> Self {
        install_crypto();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![cert.der().clone()], key.into()).unwrap();
        let mut server = Self::listen(manner, Some(TlsAcceptor::from(Arc::new(config)))).await;
        server.certificate = Some(cert.pem());
        server
    }

    async fn listen(manner: Manner, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, accepted) = (Arc::clone(&heads), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                let (manner, seen, tls) = (manner.clone(), Arc::clone(&seen), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => converse(stream, manner, seen).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => converse(stream, manner, seen).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { address, heads, connections, certificate: None }
    }

    /// How many connections it accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Its address as a URL.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }
}

/// A network in which loopback may be called.
pub(crate) fn loopback() -> Network {
    Network::new(AddressRules::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()))
}

/// A whole answer.
pub(crate) fn response(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

async fn converse<S>(mut stream: S, manner: Manner, seen: Arc<Mutex<Vec<String>>>) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(head) = head(&mut stream).await {
        seen.lock().await.push(head.clone());
        match &manner {
            Manner::Answers(answer) => stream.write_all(answer(&head).as_bytes()).await.ok()?,
            Manner::Hangs => pending().await,
            Manner::Babbles => stream.write_all(b"220 smtp.example.com ESMTP\r\n").await.ok()?,
            Manner::Trickles => loop {
                stream.write_all(b"H").await.ok()?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            },
            Manner::Floods => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 536870912\r\n\r\n").await.ok()?;
                for _ in 0..8192 {
                    stream.write_all(&vec![b'x'; 65_536]).await.ok()?;
                }
            }
        }
        stream.flush().await.ok()?;
    }
    None
}

/// Reads up to the empty line that ends a request's head, and the body that the head announces.
async fn head<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let mut request = String::from_utf8(head).ok()?;
    let length = request.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    request.push_str(&String::from_utf8(body).ok()?);
    Some(request)
}
