//! Work for all cores.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::Result;

/// What `work` makes of every item, in their order; the first error ends it.
pub fn all<Item: Sync, Made: Send>(
    items: &[Item],
    work: impl Fn(usize, &Item) -> Result<Made> + Sync,
) -> Result<Vec<Made>> {
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, item)) = take(&next, items) {
                    let done = work(index, item);
                    let failed = done.is_err();
                    made.lock().unwrap_or_else(PoisonError::into_inner).push((index, done));
                    if failed {
                        next.store(items.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, done)| done).collect()
}

fn take<'i, Item>(next: &AtomicUsize, items: &'i [Item]) -> Option<(usize, &'i Item)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, items.get(index)?))
}
