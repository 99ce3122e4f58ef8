//! Work in the background of one rollout: what is slow never delays a pass, its result is what a later pass sees.

use std::sync::Arc;

use tokio::sync::{
    Notify,
    oneshot::{self, error::TryRecvError},
};
use tokio::time::Instant;

use crate::{supervise, web::Metrics};

/// At most one piece of work of one sort.
pub(super) struct BackgroundTask<T>(Option<oneshot::Receiver<T>>);

impl<T> Default for BackgroundTask<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Send + 'static> BackgroundTask<T> {
    /// It is under way.
    pub(super) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Starts the work; `wake` is notified when the result is there. After a panic there is none.
    pub(super) fn start(
        &mut self,
        name: &'static str,
        metrics: &Metrics,
        wake: &Arc<Notify>,
        work: impl Future<Output = T> + Send + 'static,
    ) {
        self.start_and_tell(name, metrics, wake, (|_| true, Instant::now()), work);
    }

    /// The same, but `wake` is notified only of a result that is news, or comes after the next pass, which takes all others.
    pub(super) fn start_and_tell(
        &mut self,
        name: &'static str,
        metrics: &Metrics,
        wake: &Arc<Notify>,
        (is_news, next_pass): (impl FnOnce(&T) -> bool + Send + 'static, Instant),
        work: impl Future<Output = T> + Send + 'static,
    ) {
        let (sender, receiver) = oneshot::channel();
        let (metrics, wake) = (metrics.clone(), wake.clone());
        tokio::spawn(async move {
            let result = supervise::catch_panic(name, &metrics, work).await;
            let tells = result.as_ref().is_none_or(is_news);
            if let Some(result) = result {
                // The rollout may be gone meanwhile; then nobody waits for the result.
                let _ = sender.send(result);
            }
            if tells || Instant::now() >= next_pass {
                wake.notify_one();
            }
        });
        self.0 = Some(receiver);
    }

    /// The result, once.
    pub(super) fn take_result(&mut self) -> Option<T> {
        match self.0.as_mut()?.try_recv() {
            Ok(result) => {
                self.0 = None;
                Some(result)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Closed) => {
                self.0 = None;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_result_comes_once_and_wakes() {
        let (wake, metrics) = (Arc::new(Notify::new()), Metrics::default());
        let mut task = BackgroundTask::default();
        task.start("test", &metrics, &wake, async { 7 });
        assert!(task.is_running());
        wake.notified().await;
        assert_eq!((task.take_result(), task.take_result()), (Some(7), None));
        assert!(!task.is_running());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_news_wakes_nobody_and_can_be_taken() {
        let (wake, metrics) = (Arc::new(Notify::new()), Metrics::default());
        let mut task = BackgroundTask::default();
        let (now, second) = (Instant::now(), std::time::Duration::from_secs(1));
        task.start_and_tell("test", &metrics, &wake, (|number| *number > 7, now + second), async { 7 });
        assert!(tokio::time::timeout(9 * second, wake.notified()).await.is_err());
        assert_eq!(task.take_result(), Some(7));
        task.start_and_tell("test", &metrics, &wake, (|_| false, Instant::now() + second), async move {
            tokio::time::sleep(2 * second).await;
            7
        });
        assert!(tokio::time::timeout(9 * second, wake.notified()).await.is_ok(), "it came too late for that pass");
    }

    #[tokio::test]
    async fn a_panic_gives_no_result_and_another_one_can_be_started() {
        let (wake, metrics) = (Arc::new(Notify::new()), Metrics::default());
        let mut task: BackgroundTask<u8> = BackgroundTask::default();
        task.start("test", &metrics, &wake, async { panic!("on purpose") });
        wake.notified().await;
        assert_eq!(task.take_result(), None);
        assert!(!task.is_running());
        assert!(metrics.text(None).contains("cutover_panics_total 1"));
    }
}
