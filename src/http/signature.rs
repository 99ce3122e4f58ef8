//! The signature of a request: HMAC-SHA256 (RFC 2104) over `<seconds since 1970>.<body>`, so that a receiver can refuse what others
//! send and what is sent again much later.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};

/// The signature: `sha256=` and 64 hexadecimal digits.
pub(crate) const HEADER: &str = "cutover-signature";
/// The time that is signed, in seconds since 1970.
pub(crate) const TIMESTAMP_HEADER: &str = "cutover-timestamp";

/// Bytes that a key has at least, and at most.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=4096;
const PREFIX: &str = "sha256=";

/// A key that signs requests. Its `Debug` shows nothing of it.
#[derive(Debug)]
pub(crate) struct SigningKey(Key);

impl SigningKey {
    /// A key of these bytes, without white space at their ends.
    ///
    /// # Errors
    /// If they are too few to be secret, or too many; in words.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.trim_ascii();
        if !LENGTHS.contains(&bytes.len()) {
            let (least, most) = (LENGTHS.start(), LENGTHS.end());
            return Err(format!("a signing key has {least} to {most} bytes, this one {}", bytes.len()));
        }
        Ok(Self(Key::new(HMAC_SHA256, bytes)))
    }

    /// The value of the header.
    pub(crate) fn sign(&self, seconds: i64, body: &[u8]) -> String {
        let tag = sign(&self.0, &signed(seconds, body));
        let digits = tag.as_ref().iter().map(|byte| format!("{byte:02x}"));
        PREFIX.chars().map(String::from).chain(digits).collect()
    }

    /// Whether the header's value is that of this time and body.
    pub(crate) fn verifies(&self, seconds: i64, body: &[u8], value: &str) -> bool {
        let digits = value.strip_prefix(PREFIX).unwrap_or_default();
        let tag: Option<Vec<u8>> =
            digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect();
        tag.is_some_and(|tag| verify(&self.0, &signed(seconds, body), &tag).is_ok())
    }
}

fn signed(seconds: i64, body: &[u8]) -> Vec<u8> {
    [seconds.to_string().as_bytes(), b".", body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::of(&[byte; 16]).unwrap()
    }

    /// Made by `openssl dgst -sha256 -hmac kkkkkkkkkkkkkkkk` of `1700000000.{}`.
    #[test]
    fn a_signature_is_that_of_openssl() {
        let expected = "sha256=6d58fb78491a4cd45b0a5944663cf2020c2185a67defd8caec14059846f09e3d";
        assert_eq!(key(b'k').sign(1_700_000_000, b"{}"), expected);
        assert!(key(b'k').verifies(1_700_000_000, b"{}", expected));
    }

    #[test]
    fn another_key_time_or_body_and_what_is_no_signature_do_not_fit() {
        let signature = key(b'k').sign(7, b"{}");
        assert!(!key(b'l').verifies(7, b"{}", &signature));
        assert!(!key(b'k').verifies(8, b"{}", &signature));
        assert!(!key(b'k').verifies(7, b"{ }", &signature));
        for odd in ["", "sha256=", "sha1=00", &signature[..10], &format!("{signature}00"), "sha256=zz", "sha256=é"] {
            assert!(!key(b'k').verifies(7, b"{}", odd), "{odd}");
        }
    }

    #[test]
    fn a_key_that_can_be_guessed_or_is_a_file_is_refused() {
        assert_eq!(SigningKey::of(b"secret").err().unwrap(), "a signing key has 16 to 4096 bytes, this one 6");
        assert!(SigningKey::of(&[b'k'; 4097]).is_err() && SigningKey::of(&[b'k'; 4096]).is_ok());
    }
}
