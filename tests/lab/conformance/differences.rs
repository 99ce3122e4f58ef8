//! What the sandbox says otherwise on purpose.

const GO: &str = "the words of Go's JSON parser";
const PLACES: &str =
    "an update is validated piece by piece, and a type error loses the piece's place; ours names the whole place";
const DROPPED: &str = "labels in a status update are dropped, but noted as the writer's; ours notes what was written";
const APPLY: &str = "no server-side apply";
const HASHES: &str = "hashes of storage versions, which only a migration between servers needs";

/// The beginning of a case's name, and why it differs.
pub const ALL: &[(&str, &str)] = &[
    ("create: RAW POST things not json", GO),
    ("create: RAW POST things []", GO),
    ("patches: RAW MERGE things/p-a not json", GO),
    ("patches: JSON things/p-a {\"op\"", GO),
    ("status: MERGE things/s-a/status {\"status\":{\"seen\":\"x\"}}", PLACES),
    ("status: MERGE things/s-b/status", DROPPED),
    ("patches: APPLY things/p-a", APPLY),
    ("paths: GET /apis/conformance.example.com/v1 ", HASHES),
    ("paths: GET /apis/cutover.dev/v1alpha1 ", HASHES),
];

/// Why a case may differ, if it may.
pub fn reason(case: &str) -> Option<&'static str> {
    ALL.iter().find(|(start, _)| case.starts_with(start)).map(|(_, reason)| *reason)
}
