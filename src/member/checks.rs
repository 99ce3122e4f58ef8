//! The checks of one member, again and again.

use std::{future::pending, time::Duration};

use tokio::sync::watch;

use super::{Member, Registry, health};
use crate::{clock::Clock, web::Metrics};

/// Time between two checks of a member.
const BETWEEN_CHECKS: Duration = Duration::from_secs(30);

/// Checks the member at once and then every 30 seconds, while this process leads, and publishes what changed. A renewal that
/// failed is published at once. Never ends.
pub(super) async fn run(
    member: &Member,
    registry: &Registry,
    (clock, metrics): (&Clock, &Metrics),
    mut leading: watch::Receiver<bool>,
) {
    let mut renewal = member.not_renewed.subscribe();
    while leading.wait_for(|leading| *leading).await.is_ok() {
        let health = health::check(member, clock.now()).await;
        metrics.set_successes(&member.declared.name, health.holding(), clock.now());
        if member.health().as_ref() != Some(&health) {
            member.health.send_replace(Some(health));
            registry.health_changed();
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep(BETWEEN_CHECKS) => {}
            _ = renewal.changed() => {}
        }
    }
    // Nobody can say any more that this process leads: it stops.
    pending::<()>().await;
}
