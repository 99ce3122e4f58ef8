//! A hash that is the same in every version of the hub.

/// FNV-1a in 64 bits. What it names is compared with what an earlier version of the hub wrote, so it must never change.
///
/// Source: <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Names anything that is declared: twelve hexadecimal digits of [`fnv1a`].
pub(crate) fn fingerprint(declared: &impl serde::Serialize) -> String {
    // Plain data with string keys always serialises; were it ever not to, equal declarations would still be equal.
    let text = serde_json::to_string(declared).unwrap_or_default();
    format!("{:012x}", fnv1a(text.as_bytes()) & 0xffff_ffff_ffff)
}
