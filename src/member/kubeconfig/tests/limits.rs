//! Sizes and times exactly at their limits.

use rcgen::PKCS_RSA_SHA256;

use super::*;

const AUTHORITY: &str = "/clusters/0/cluster/certificate-authority-data";

fn seconds_before(end: Timestamp, seconds: i64) -> Timestamp {
    end - SignedDuration::from_secs(seconds)
}

#[test]
fn the_largest_kubeconfig_is_read_and_one_byte_more_is_not() {
    let text = good().to_string();
    let of = |bytes: usize| parse(&format!("{text}{}", "\n".repeat(bytes - text.len())), now());
    assert!(of(65_536).is_ok());
    assert_eq!(of(65_537).unwrap_err().to_string(), "TooLarge: the kubeconfig has 65537 bytes; at most 65536 are read");
}

#[test]
fn sixteen_certificates_are_a_bundle_and_seventeen_are_too_many() {
    let certificate = pair().cert.pem();
    let bundle = |count: usize| with(AUTHORITY, base64(certificate.repeat(count)));
    assert!(parse(&bundle(16).to_string(), now()).is_ok());
    assert_eq!(
        refusal(&bundle(17)),
        "TooManyCertificates: clusters[0].cluster.certificate-authority-data holds 17; at most 16"
    );
}

#[test]
fn an_rsa_key_of_2048_bits_is_strong_enough() {
    let key = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    let certificate = CertificateParams::new(["member".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
    assert!(parse(&with(AUTHORITY, base64(certificate)).to_string(), now()).is_ok());
}

#[test]
fn a_certificate_is_good_until_the_instant_at_which_it_ends() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["member".to_owned()]).unwrap();
    params.not_after = date_time_ymd(2026, 12, 5);
    let client = with_identity(&params.self_signed(&key).unwrap().pem(), &key.serialize_pem());
    for (config, what, field) in [
        (with(AUTHORITY, base64(ending(5))), "CA certificate", "clusters[0].cluster.certificate-authority-data"),
        (client, "client certificate", "users[0].user.client-certificate-data"),
    ] {
        let at = |now| parse(&config.to_string(), now);
        let end = at(now()).unwrap().expires;
        assert_eq!(end.what.to_string(), what);
        assert!(at(seconds_before(end.at, 1)).is_ok(), "{what}");
        let refused = at(end.at).unwrap_err().to_string();
        assert_eq!(refused, format!("CertificateExpired: {field} ended on 2026-12-05; issue a new one"));
    }
}

#[test]
fn of_an_authority_and_a_token_the_first_to_end_is_said_and_the_token_if_both_do() {
    // {"exp":1796428800}, the first second of 2026-12-05.
    let token = json!("eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjE3OTY0Mjg4MDB9.c2ln");
    for (day, expected) in [(4, "CA certificate"), (5, "token"), (6, "token")] {
        let mut config = with(AUTHORITY, base64(ending(day)));
        config["users"][0]["user"]["token"] = token.clone();
        assert_eq!(parse(&config.to_string(), now()).unwrap().expires.what.to_string(), expected, "{day}");
    }
}
