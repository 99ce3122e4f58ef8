//! Rounds of probes, and what counts as an answer.

use serde_json::json;

use super::*;
use crate::{
    api::ROLLOUT_LABEL,
    hub::{
        fixtures::{
            objects::{member, rollout, stepping},
            world::{World, until},
        },
        observe,
    },
};

fn at(text: &str) -> Place {
    Place { source: EndpointSource::Probe, text: text.to_owned() }
}

fn seen(failures: u32, successes: u32) -> EndpointSeen {
    EndpointSeen { source: EndpointSource::Probe, failures, successes }
}

fn round(answers: &[(&str, bool)]) -> Round {
    let answer = |good| if good { Ok(()) } else { Err("refused".to_owned()) };
    let at = |member: &str| at(&format!("{member}.example.com:443"));
    let one = |(member, good): &(&str, bool)| (("shop".to_owned(), (*member).to_owned()), (at(member), answer(*good)));
    answers.iter().map(one).collect()
}

#[test]
fn streaks_are_counted_in_rounds_and_what_is_not_probed_is_forgotten() {
    let mut probes = Probes::default();
    for good in [true, false, false] {
        probes.count(&round(&[("eu-1", true), ("eu-3", good)]));
    }
    let streak = |member: &str| probes.streaks.get(&("shop".to_owned(), member.to_owned())).map(|(_, seen)| *seen);
    assert_eq!(streak("eu-1"), Some(seen(0, 3)));
    assert_eq!(streak("eu-3"), Some(seen(2, 0)));
    probes.count(&round(&[("eu-1", true)]));
    assert_eq!(probes.streaks.len(), 1);
}

#[test]
fn one_answer_ends_a_row_of_failures() {
    let mut probes = Probes::default();
    for good in [false, false, true] {
        probes.count(&round(&[("eu-3", good)]));
    }
    let streaks: Vec<EndpointSeen> = probes.streaks.values().map(|(_, seen)| *seen).collect();
    assert_eq!(streaks, [seen(0, 1)]);
}

#[test]
fn rounds_follow_the_interval_and_are_fewer_only_while_all_are_well() {
    let seconds = Duration::from_secs;
    for (interval, well, unwell) in [(1, 1, 1), (5, 5, 5), (30, 5, 5), (48, 8, 5), (60, 10, 5), (3600, 10, 5)] {
        let pauses = (pause(seconds(interval), true), pause(seconds(interval), false));
        assert_eq!(pauses, (seconds(well), seconds(unwell)), "{interval}");
    }
}

#[test]
fn a_round_is_news_until_every_endpoint_has_answered_three_times_and_when_one_does_not() {
    let (mut probes, good) = (Probes::default(), round(&[("eu-1", true), ("eu-3", true)]));
    let news = |probes: &Probes, round: &Round| !round.iter().all(|one| is_as_before(one, &probes.well()));
    for _ in 0..3 {
        assert!(news(&probes, &good));
        probes.count(&good);
    }
    assert!(!news(&probes, &good));
    assert!(news(&probes, &round(&[("eu-1", true), ("eu-3", false)])));
    assert!(news(&probes, &Round::from([(("shop".to_owned(), "eu-3".to_owned()), (at("eu-4:443"), Ok(())))])));
    assert!(news(&probes, &round(&[("eu-1", true), ("eu-2", true)])), "one that was not probed before");
}

#[test]
fn an_endpoint_that_leads_elsewhere_starts_anew() {
    let mut probes = Probes::default();
    let key = ("shop".to_owned(), "canary".to_owned());
    for place in ["eu-2.example.com:443", "eu-2.example.com:443", "eu-3.example.com:443"] {
        probes.count(&Round::from([(key.clone(), (at(place), Ok(())))]));
    }
    assert_eq!(probes.streaks.get(&key).map(|(_, seen)| seen.successes), Some(1));
}

/// The Service of primary or canary, and a slice of the cluster's for it, ready or not.
fn behind(slot: &str, ready: Option<bool>) -> Vec<Value> {
    let labels = json!({ROLLOUT_LABEL: "uid-shop", "kubernetes.io/service-name": format!("shop-{slot}")});
    let name = format!("shop-{slot}");
    let service = json!({"apiVersion": "v1", "kind": "Service", "spec": spec(slot),
                         "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1", "labels": labels}});
    let slice = |ready| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": format!("{name}-x1"), "namespace": "shop", "resourceVersion": "1", "labels": labels},
            "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["10.0.0.7"], "conditions": {"ready": ready}}],
        })
    };
    std::iter::once(service).chain(ready.map(slice)).collect()
}

fn spec(version: &str) -> Value {
    json!({"type": "ClusterIP", "selector": {"version": version}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]})
}

/// What a round says without any probe of a service whose primary and canary have addresses.
async fn looked(primary: Option<bool>, canary: Option<bool>) -> BTreeMap<Key, Answer> {
    let mut status = stepping();
    status["run"]["services"] = json!({"shop": {"spec": spec("canary")}});
    status["promoted"] = json!({"revision": "r", "services": {"shop": {"spec": spec("primary")}}});
    let mut object = rollout(&status);
    object["spec"].as_object_mut().unwrap().remove("members");
    let backends = behind("primary", primary).into_iter().chain(behind("canary", canary));
    let mut world = World::of([object, member("eu-1"), member("eu-3")].into_iter().chain(backends)).await;
    let kind = backend::slices();
    until("slices are listed", || world.hub.objects.availability(&kind) == Availability::Synced).await;
    let (rollout, subject) = (world.rollout(), world.subject());
    let observed = observe::observe(&world.hub, &rollout, &BTreeMap::new(), &subject, &mut world.memory);
    let (probes, known) = super::round(&world.hub, &subject, &observed);
    assert!(probes.is_empty());
    let (_, unseen) = super::round(&world.hub, &subject, &Observed::default());
    assert_eq!(unseen, BTreeMap::new(), "a Service that was not looked at is not one that is missing");
    known
}

#[tokio::test]
async fn a_service_with_addresses_answers_if_one_of_them_is_ready() {
    let answer = |known: &BTreeMap<Key, Answer>, slot: &str| known[&("shop".to_owned(), slot.to_owned())].clone();
    let none = |slot: &str| Err(format!("no EndpointSlice of Service shop-{slot} has a ready address for port 80"));
    let known = looked(Some(true), Some(false)).await;
    assert_eq!((answer(&known, "primary"), answer(&known, "canary")), (Ok(()), none("canary")));
    let known = looked(None, Some(true)).await;
    assert_eq!((answer(&known, "primary"), answer(&known, "canary")), (none("primary"), Ok(())));
}

#[test]
fn a_service_with_addresses_that_selects_others_starts_anew() {
    let of = |version: &str| ServiceCopy::of(&spec(version), &BTreeMap::new(), &BTreeMap::new());
    let reach = Reach { host: "shop".to_owned(), port: 80, server_name: None, host_header: HostHeader::Preserve };
    let place = |copy: &ServiceCopy| Place::of(Readiness::BySlices(copy), &reach);
    assert_eq!(place(&of("blue")), place(&of("blue")));
    assert_ne!(place(&of("blue")), place(&of("green")));
    assert_ne!(place(&of("blue")), Place::of(Readiness::ByProbes, &reach));
}

#[tokio::test]
async fn a_canary_that_leads_where_no_service_may_is_never_probed() {
    let world = World::of([member("eu-1")]).await;
    let hosts = |host: &str| {
        let spec = json!({"type": "ExternalName", "externalName": host});
        let copy = json!({"spec": spec, "annotations": {"cutover.dev/member": "eu-1"}});
        let rollout = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "shop", "namespace": "shop"},
            "spec": {"services": [{"name": "shop", "port": 80, "routes": []}], "analysis": {"metrics": []}},
            "status": {"promoted": {"revision": "r", "services": {}}, "canary": {"shop": copy}}});
        let rollout = serde_json::from_value(rollout).unwrap();
        let subject = Subject::new("hub", &rollout, &world.hub.registry, &[]);
        let (probes, known) = super::round(&world.hub, &subject, &Observed::default());
        assert_eq!(known, BTreeMap::new());
        probes.into_iter().map(|(_, _, probe)| probe.host).collect::<Vec<_>>()
    };
    assert_eq!(hosts("eu-1.example.com"), ["eu-1.example.com"]);
    assert_eq!(hosts("EU-1.example.com."), ["EU-1.example.com."]);
    for host in ["kubernetes.default.svc.cluster.local.", "metadata.google.internal", "eu-2.example.com"] {
        assert_eq!(hosts(host), [""; 0], "{host}");
    }
}
