//! The service that takes the alerts of the rollout.

use std::future::pending;

use cutover::http::{Answer, HttpError};
use http::Request;
use tokio::sync::Notify;

use super::{
    super::{
        plan::{Fault, sorts::AlertFault},
        world::World,
    },
    doors::huge,
};

/// Its host, as the alert provider of the rollout names it.
pub(super) const HOST: &str = "alerts.example.com";
/// A run has at least so many deliveries.
const DELIVERIES: usize = 5;
/// Deliveries that fail in a row.
const FAILURES: usize = 3;

pub(super) async fn answer(
    world: &World,
    instance: usize,
    halt: &Notify,
    call: &Request<()>,
) -> Result<Answer, HttpError> {
    let key = call.headers().get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
    let first = 1 + world.plan.k % DELIVERIES;
    let number = {
        let mut faults = world.faults();
        faults.deliveries += 1;
        faults.deliveries
    };
    let Fault::Alerts(fault) = world.plan.fault else { return Ok(status(200)) };
    let is_it = match fault {
        AlertFault::Fails | AlertFault::Redirects => (first..first + FAILURES).contains(&number),
        AlertFault::Recorded | AlertFault::Unrecorded => false,
        AlertFault::Undelivered | AlertFault::Delivered | AlertFault::Hangs | AlertFault::Floods => number == first,
    };
    if is_it {
        world.faults().strike();
    }
    let takes = !is_it || !matches!(fault, AlertFault::Undelivered | AlertFault::Fails | AlertFault::Redirects);
    if takes {
        world.judge().delivered(key);
    }
    match fault {
        _ if !is_it => Ok(status(200)),
        AlertFault::Undelivered | AlertFault::Delivered => {
            let now = world.now();
            world.faults().crash(instance, now);
            halt.notify_one();
            pending().await
        }
        AlertFault::Hangs => pending().await,
        AlertFault::Floods => Ok(huge()),
        AlertFault::Redirects => Ok(status(302)),
        AlertFault::Fails => Ok(status(500)),
        AlertFault::Recorded | AlertFault::Unrecorded => Ok(status(200)),
    }
}

fn status(status: u16) -> Answer {
    Answer { status, date: None, body: b"s3cret-of-a-service".to_vec() }
}
