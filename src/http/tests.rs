//! The client against real sockets, honest and hostile.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    AddressRules, Client, HttpError, Limits, Network, Peer,
    fixtures::{Manner, Server, loopback, response},
};

const LIMITS: Limits = Limits { deadline: Duration::from_millis(400), body: 1 << 20 };

async fn get(server: &Server) -> Result<(u16, Vec<u8>), HttpError> {
    let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback())?;
    client.get("/x", &[], LIMITS, Clone::clone).await.map(|answer| (answer.status, answer.body))
}

#[tokio::test]
async fn an_answer_is_its_status_and_body() {
    let server = Server::fixed(418, "tea").await;
    assert_eq!(get(&server).await.unwrap(), (418, b"tea".to_vec()));
}

#[tokio::test]
async fn the_date_of_an_answer_is_read_in_the_form_that_is_sent() {
    for (header, expected) in [
        ("date: Mon, 23 Nov 2026 02:11:37 GMT\r\n", Some("2026-11-23T02:11:37Z")),
        ("date: Monday, 23-Nov-26 02:11:37 GMT\r\n", None),
        ("date: Fri, 31 Dec 99999 23:59:59 GMT\r\n", None),
        ("", None),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{header}content-length: 0\r\n\r\n");
        let server = Server::start(Manner::Answers(Arc::new(move |_| answer.clone()))).await;
        let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback()).unwrap();
        let date = client.get("/x", &[], LIMITS, |answer| answer.date).await.unwrap();
        assert_eq!(date.map(|date| date.to_string()).as_deref(), expected, "{header}");
    }
}

#[tokio::test]
async fn who_hangs_or_trickles_is_late_at_the_deadline() {
    for manner in [Manner::Hangs, Manner::Trickles] {
        let server = Server::start(manner).await;
        let began = Instant::now();
        assert_eq!(get(&server).await.unwrap_err().to_string(), "no answer within 0.4 s");
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_body_that_trickles_after_its_head_is_late_too() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx";
    let server = Server::start(Manner::Answers(Arc::new(|_| begun.to_owned()))).await;
    assert_eq!(get(&server).await.unwrap_err(), HttpError::Late(LIMITS.deadline));
}

#[tokio::test]
async fn a_flood_is_cut_at_the_limit() {
    let server = Server::start(Manner::Floods).await;
    let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback()).unwrap();
    let limits = Limits { deadline: Duration::from_secs(10), body: 1 << 20 };
    let error = client.get("/", &[], limits, Clone::clone).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer is larger than 1024 KiB");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let target = Server::fixed(200, "secret").await;
    let location = format!("HTTP/1.1 302 Found\r\nlocation: {}/\r\ncontent-length: 0\r\n\r\n", target.url());
    let server = Server::start(Manner::Answers(Arc::new(move |_| location.clone()))).await;
    assert_eq!(get(&server).await.unwrap().0, 302);
    assert!(target.heads.lock().await.is_empty());
}

#[tokio::test]
async fn garbage_is_an_error_that_repeats_none_of_it() {
    let server = Server::start(Manner::Babbles).await;
    let error = get(&server).await.unwrap_err().to_string();
    assert!(!error.contains("smtp") && error.chars().count() <= 80, "{error}");
}

#[tokio::test]
async fn nobody_there_is_said_in_the_words_of_the_system() {
    let server = Server::fixed(200, "").await;
    let address = server.address;
    // A port on which nobody listens: this one's neighbour on an address of its own.
    let url = format!("http://127.77.0.1:{}", address.port());
    let client = Client::new(&Peer::at(&url).unwrap(), &loopback()).unwrap();
    let error = client.get("/", &[], LIMITS, Clone::clone).await.unwrap_err().to_string();
    assert!(error.starts_with("Connection refused"), "{error}");
}

#[tokio::test]
async fn addresses_that_lead_back_are_refused_as_literal_and_as_name() {
    let server = Server::fixed(200, "").await;
    let port = server.address.port();
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0x7f000001", "2130706433", "0.0.0.0"] {
        let peer = Peer::at(&format!("http://{host}:{port}")).unwrap();
        let error = Client::new(&peer, &Network::new(AddressRules::default())).unwrap_err();
        assert!(matches!(error, HttpError::AddressNotAllowed { .. }), "{host}: {error}");
    }
    let client =
        Client::new(&Peer::at(&format!("http://localhost:{port}")).unwrap(), &Network::new(AddressRules::default()))
            .unwrap();
    let error = client.get("/", &[], LIMITS, Clone::clone).await.unwrap_err();
    assert!(matches!(error, HttpError::AddressNotAllowed { .. }), "{error}");
    assert!(server.heads.lock().await.is_empty(), "no connection was made");
}

#[test]
fn an_address_is_a_plain_http_url() {
    for (address, expected) in [
        ("file:///etc/passwd", "file:///etc/passwd: https required; write https://host:port"),
        ("unix:/run/x.sock", "unix:/run/x.sock: https required; write https://host:port"),
        ("eu-3.example.com", "eu-3.example.com: not a URL; write https://host:port"),
        ("https://u:pw@a", "…@a: credentials do not belong in an address; put them into a Secret"),
        ("https://a?x=pw", "https://a?x=pw: an address has no query and no fragment"),
    ] {
        assert_eq!(Peer::at(address).unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn tls_uses_the_server_name_while_the_connection_goes_to_the_host() {
    let server = Server::tls("eu-3.example.com", Manner::Answers(Arc::new(|_| response(200, "")))).await;
    let port = server.address.port();
    let mut peer = Peer::at(&format!("https://localhost:{port}/prefix/")).unwrap();
    peer.roots = server.certificate.clone().map(String::into_bytes);
    let ask =
        async |peer: &Peer| Client::new(peer, &loopback())?.get("/q", &[("a", "1 2")], LIMITS, Clone::clone).await;

    let error = ask(&peer).await.unwrap_err().to_string();
    assert!(error.contains("not valid for name"), "{error}");

    peer.server_name = Some("eu-3.example.com".to_owned());
    assert_eq!(ask(&peer).await.unwrap().status, 200);
    peer.host_header = Some("shop.example.com".to_owned());
    ask(&peer).await.unwrap();

    let heads = server.heads.lock().await.join("\n").to_lowercase();
    assert!(heads.contains("get /prefix/q?a=1+2 "), "{heads}");
    assert!(heads.contains(&format!("host: localhost:{port}\r\n")), "{heads}");
    assert!(heads.contains("host: shop.example.com\r\n"), "{heads}");
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let server = Server::tls("localhost", Manner::Answers(Arc::new(|_| response(200, "")))).await;
    let other = Server::tls("localhost", Manner::Hangs).await;
    let mut peer = Peer::at(&format!("https://localhost:{}", server.address.port())).unwrap();
    peer.roots = other.certificate.map(String::into_bytes);
    let error = Client::new(&peer, &loopback()).unwrap().get("/", &[], LIMITS, Clone::clone).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn a_server_name_that_sni_cannot_carry_is_refused() {
    for name in ["10.0.0.1", "[::1]", "a b", ""] {
        let mut peer = Peer::at("https://a").unwrap();
        peer.server_name = Some(name.to_owned());
        let error = Client::new(&peer, &loopback()).unwrap_err();
        assert_eq!(error.to_string(), format!("{name}: not a DNS name for serverName"));
    }
}
