//! Live memory: bytes that are allocated and not freed, counted exactly. Everything runs in one thread, so that the same
//! seed gives the same figure.

use cap::Cap;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

/// Bytes that live now, the test's own included.
pub fn live() -> usize {
    ALLOCATOR.allocated()
}
