//! Keeps what must never end from ending.

use std::{any::Any, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;

use crate::web::Metrics;

/// After a panic the next try waits this long.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs `work` again and again: a panic in it is logged and counted, and stops nothing else.
pub(crate) async fn run_forever<F: Future<Output = ()>>(name: &str, metrics: &Metrics, work: impl Fn() -> F) {
    loop {
        if catch_panic(name, metrics, work()).await.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The result of `work`, or `None` if it panicked.
pub(crate) async fn catch_panic<T>(name: &str, metrics: &Metrics, work: impl Future<Output = T>) -> Option<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => Some(result),
        Err(panic) => {
            metrics.count_panic();
            tracing::error!(
                task = name,
                panic = message_of(panic.as_ref()),
                "a panic was caught; this is a bug in cutover"
            );
            None
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Mutex};

    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_panicked_begins_again_after_a_second_and_what_ended_at_once() {
        let (metrics, first, times) = (Metrics::default(), Instant::now(), Mutex::new(Vec::new()));
        let begin = || {
            times.lock().unwrap().push(first.elapsed());
            times.lock().unwrap().len()
        };
        let work = || async {
            match begin() {
                1 => panic!("on purpose"),
                2 => {}
                _ => pending().await,
            }
        };
        assert!(timeout(Duration::from_mins(1), run_forever("test", &metrics, work)).await.is_err());
        assert_eq!(*times.lock().unwrap(), [Duration::ZERO, PAUSE, PAUSE]);
        assert!(metrics.text(None).contains("cutover_panics_total 1"));
    }
}
