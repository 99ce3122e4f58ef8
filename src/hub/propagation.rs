//! Data planes that do not say what they have read: a write counts as applied once they must have read it.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::subject::Subject;
use crate::rollout::{
    RouteKey,
    input::{Accepted, LiveRoute, RouteSeen},
};

/// The writes of one rollout that are still to be read.
#[derive(Default)]
pub(super) struct Propagation {
    /// Their sequence, and until when. The time counts from the first look at the written objects, which is never before
    /// the write.
    written: BTreeMap<RouteKey, (u64, Instant)>,
    /// Until when what was last given back is still to be read: a backend that it named is in use as long.
    released: Option<Instant>,
}

impl Propagation {
    /// A route as it was seen, not accepted yet while its data plane, which obeys within this time if it does not say when,
    /// may still use what was there before.
    pub(super) fn awaited(
        &mut self,
        subject: &Subject,
        key: &RouteKey,
        within: Option<Duration>,
        mut seen: RouteSeen,
        now: Instant,
    ) -> RouteSeen {
        let Some(within) = within else { return seen };
        let RouteSeen::Live(live) = &mut seen else { return seen };
        let Some(sequence) = unconfirmed(subject, key, live) else {
            self.written.remove(key);
            return seen;
        };
        let awaited = self.written.entry(key.clone()).or_insert((sequence, now + within));
        if awaited.0 != sequence {
            *awaited = (sequence, now + within);
        }
        if now < awaited.1 {
            live.accepted = Accepted::Pending;
        }
        seen
    }

    /// A route was given back now, which its data plane obeys within this time, if it does not say when.
    pub(super) fn released(&mut self, within: Option<Duration>, now: Instant) {
        self.released = self.released.max(within.map(|within| now + within));
    }

    /// Until when backends are still in use.
    pub(super) fn in_use_until(&self, now: Instant) -> Option<Instant> {
        self.released.filter(|until| *until > now)
    }

    /// When the next of them has been read.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.written.values().map(|(_, until)| *until).filter(|until| *until > now).min()
    }
}

/// The sequence of the rollout's own write that the route carries, if the status does not record it as confirmed.
fn unconfirmed(subject: &Subject, key: &RouteKey, live: &LiveRoute) -> Option<u64> {
    let mark = live.mark.as_ref().filter(|mark| mark.hub == subject.hub && mark.rollout == subject.uid)?;
    let known = subject.status.route(&key.service, &key.route);
    let is_known = known.is_some_and(|route| route.sequence == mark.sequence);
    (!is_known).then_some(mark.sequence)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{hub::fixtures::objects::live_route, member::Registry, rollout::input::Mark, route};

    const SECOND: Duration = Duration::from_secs(1);

    fn key() -> RouteKey {
        RouteKey { service: "shop".to_owned(), route: "RouteGroup/public".to_owned() }
    }

    /// The rollout, whose status records that write 4 was confirmed.
    fn subject() -> Subject<'static> {
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "fleet", "namespace": "shop", "uid": "uid-1"},
            "spec": {"services": [], "members": [], "analysis": {"metrics": []}},
            "status": {"routes": [{"service": "shop", "route": "RouteGroup/public", "applied": {"eu-1": 100}, "sequence": 4,
                                   "at": "2026-01-01T00:00:00Z"}]}});
        let rollout = Box::leak(Box::new(serde_json::from_value(object).unwrap()));
        Subject::new("hub-1", rollout, &Registry::default(), &[])
    }

    /// How long the data plane of a route to this kind of backend may take.
    fn obeyed_within(backend: &str, route: &Value) -> Option<Duration> {
        let service = json!({"name": "shop", "port": 80, "backend": {backend: {}}, "routes": [route]});
        let service: crate::api::ServiceSpec = serde_json::from_value(service).unwrap();
        route::obeyed_within(&service, &service.routes[0])
    }

    /// What is said of a route with this mark.
    fn accepted(awaited: &mut Propagation, route: &Value, sequence: Option<u64>, now: Instant) -> Accepted {
        let of = |sequence| Mark { hub: "hub-1".to_owned(), rollout: "uid-1".to_owned(), run: 1, sequence };
        let seen = RouteSeen::Live(Box::new(live_route(sequence.map(of))));
        match awaited.awaited(&subject(), &key(), obeyed_within("externalName", route), seen, now) {
            RouteSeen::Live(live) => live.accepted,
            seen @ (RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Unusable(_)) => panic!("{seen:?}"),
        }
    }

    #[tokio::test]
    async fn a_write_counts_once_skipper_must_have_read_it() {
        for form in ["RouteGroup", "Ingress", "IngressPerMember", "CanaryIngress"] {
            let route = json!({"skipper": {"form": form, "name": "public"}});
            let (mut awaited, begin) = (Propagation::default(), Instant::now());
            let mut at = |sequence, seconds: u32| {
                let now = begin + seconds * SECOND;
                (accepted(&mut awaited, &route, sequence, now), awaited.due(now).map(|due| due - begin))
            };
            assert_eq!(at(Some(4), 0), (Accepted::Unsaid, None), "{form}: what was confirmed stays so");
            assert_eq!(at(Some(5), 1), (Accepted::Pending, Some(5 * SECOND)), "{form}");
            assert_eq!(at(Some(5), 4), (Accepted::Pending, Some(5 * SECOND)), "{form}");
            assert_eq!(at(Some(5), 5), (Accepted::Unsaid, None), "{form}");
            assert_eq!(at(Some(6), 6), (Accepted::Pending, Some(10 * SECOND)), "{form}: another write");
            assert_eq!(at(None, 7), (Accepted::Unsaid, None), "{form}: somebody took the mark off");
            assert_eq!(at(Some(6), 8), (Accepted::Pending, Some(12 * SECOND)), "{form}: and it was written again");
        }
    }

    #[tokio::test]
    async fn what_a_route_named_is_in_use_until_its_data_plane_must_have_read_that_it_was_given_back() {
        let of = |kind: &str| obeyed_within("externalName", &json!({kind: {"name": "public"}}));
        let (mut released, begin) = (Propagation::default(), Instant::now());
        released.released(of("contour"), begin);
        assert_eq!(released.in_use_until(begin), None);
        released.released(of("istio"), begin);
        assert_eq!(released.in_use_until(begin), Some(begin + 3 * SECOND));
        assert_eq!(released.in_use_until(begin + 3 * SECOND), None);
    }

    #[tokio::test]
    async fn what_says_itself_what_it_has_read_is_not_waited_for() {
        let route = json!({"gatewayAPI": {"name": "public"}});
        let mut awaited = Propagation::default();
        assert_eq!(accepted(&mut awaited, &route, Some(5), Instant::now()), Accepted::Unsaid);
        assert_eq!(awaited.due(Instant::now()), None);
    }

    #[test]
    fn istiod_speaks_of_an_http_route_before_its_entries_are_where_they_are_used() {
        let route = json!({"gatewayAPI": {"name": "public"}});
        assert_eq!(obeyed_within("serviceEntry", &route), Some(3 * SECOND));
        assert_eq!(obeyed_within("externalName", &route), None);
    }
}
