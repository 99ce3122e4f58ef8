//! A hash that is the same in every version of the hub.

/// FNV-1a in 64 bits. What it names is compared with what an earlier version of the hub wrote, so it must never change.
///
/// Source: <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
