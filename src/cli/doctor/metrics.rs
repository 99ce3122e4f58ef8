//! Every metric of every rollout at every member: the query is sent once from here, as the hub sends it.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use kube::{Api, ResourceExt, api::ListParams, core::DeserializeGuard};

use super::{
    AT_ONCE,
    check::{Check, Outcome, Section, first_line},
    fleet::Fleet,
    read::Placed,
};
use crate::{
    api::{Analysis, Metric, MetricTemplate, analysis::MetricKind, status::MemberValue},
    backend,
    cli::{
        cluster::Cluster,
        live::Place,
        metrics,
        text::{age, number},
        view::View,
    },
    metric::{self, Clusters, Destination, Sources, resolve::Resolved},
    rollout::{
        input::{MeasurementRequest, MetricWindow, Sample, Sampled},
        merge::{Quantile, quantile, ratio},
    },
};

pub(super) async fn checks(cluster: &Cluster, rollouts: &[Placed], fleet: &Fleet, now: Timestamp) -> Vec<Check> {
    let rollouts = stream::iter(rollouts).map(async |rollout| match &rollout.places {
        Ok(places) => of_rollout(cluster, rollout, places, fleet, now).await,
        // The section of the routes says it.
        Err(_) => Vec::new(),
    });
    rollouts.buffered(AT_ONCE).concat().await
}

async fn of_rollout(
    cluster: &Cluster,
    rollout: &Placed,
    places: &[Place],
    fleet: &Fleet,
    now: Timestamp,
) -> Vec<Check> {
    let Placed { view, .. } = rollout;
    let (namespace, title, analysis) = (view.namespace(), rollout.title(), &view.rollout.spec.analysis);
    let templates = match templates(cluster, &namespace, analysis).await {
        Ok(templates) => templates,
        Err(why) => {
            let remedy = "ask for the ClusterRole cutover-viewer, which may read them";
            let outcome = Outcome::not_known(format!("the MetricTemplates are not known: {why}"), remedy);
            return vec![Check::new(Section::Metrics, title, outcome)];
        }
    };
    let resolved = metric::resolve::resolve(analysis, &|name| templates.get(name).cloned());
    let (clusters, mut request) = (destinations(places), request(&resolved, places, now));
    let refused = refused(fleet, &clusters, &namespace);
    request.members.retain(|member| !refused.contains_key(member));
    let sources = sources(fleet, &clusters);
    let samples = metric::measure(&request, &resolved, &namespace, &clusters, &sources, now).await;
    let check = |sampled: Sampled| {
        let subject = format!("{title} {}: {} at {}", sampled.service, sampled.metric, sampled.member);
        Check::new(Section::Metrics, subject, judge(view, &resolved, &sampled, now))
    };
    let refused = refused.into_iter().map(|(member, why)| {
        let remedy = "add the namespace there, or use another member";
        Check::new(Section::Metrics, format!("{title} at {member}"), Outcome::bad(why, remedy))
    });
    refused.chain(samples.into_iter().map(check)).collect()
}

/// The members that do not let rollouts of this namespace use them, and in whose words.
fn refused(fleet: &Fleet, clusters: &Clusters, namespace: &str) -> BTreeMap<String, String> {
    let refusal = |((_, member), behind): (&(String, String), &Destination)| {
        let problem = fleet.member(&behind.cluster).ok()?.consents(namespace).err()?;
        Some((member.clone(), problem.message))
    };
    clusters.iter().filter_map(refusal).collect()
}

/// The templates of the namespace, where any is used.
async fn templates(
    cluster: &Cluster,
    namespace: &str,
    analysis: &Analysis,
) -> Result<BTreeMap<String, crate::api::MetricTemplateSpec>, String> {
    if !analysis.metrics.iter().any(|metric| matches!(metric.kind(), MetricKind::Template(_))) {
        return Ok(BTreeMap::new());
    }
    let api: Api<DeserializeGuard<MetricTemplate>> = Api::namespaced(cluster.client.clone(), namespace);
    let listed = cluster.call(&[], api.list(&ListParams::default())).await.map_err(|error| first_line(&error))?;
    let readable = listed.items.into_iter().filter_map(|one| one.0.ok());
    Ok(readable.map(|template| (template.name_any(), template.spec)).collect())
}

fn destinations(places: &[Place]) -> Clusters {
    let of = |place: &Place| {
        let behind = |(member, cluster, _): (&str, &str, &crate::object::Reach)| {
            let backend = backend::name(&place.service, member);
            ((place.service.name.clone(), member.to_owned()), Destination { cluster: cluster.to_owned(), backend })
        };
        place.clusters().map(behind).collect::<Vec<_>>()
    };
    places.iter().flat_map(of).collect()
}

fn request(resolved: &Resolved, places: &[Place], now: Timestamp) -> MeasurementRequest {
    let analysis = &resolved.analysis;
    let window = |metric: &Metric| MetricWindow {
        metric: metric.name.clone(),
        window: metric.window.unwrap_or(analysis.interval),
        whole: true,
    };
    let lag = SignedDuration::try_from(analysis.lag.to_std()).unwrap_or_default();
    let mut members: Vec<String> =
        places.iter().flat_map(|place| place.clusters().map(|(member, ..)| member.to_owned())).collect();
    members.sort();
    members.dedup();
    MeasurementRequest {
        at: now,
        sequence: 0,
        evaluate_at: now.saturating_sub(lag).unwrap_or(now),
        windows: analysis.metrics.iter().map(window).collect(),
        services: places.iter().map(|place| place.service.name.clone()).collect(),
        members,
    }
}

fn sources(fleet: &Fleet, clusters: &Clusters) -> Sources {
    let source = |name: &str| fleet.member(name)?.prometheus().map_err(|problem| problem.message);
    clusters.values().map(|one| (one.cluster.clone(), source(&one.cluster))).collect()
}

fn judge(view: &View, resolved: &Resolved, sampled: &Sampled, now: Timestamp) -> Outcome {
    let metric = resolved.analysis.metrics.iter().find(|metric| metric.name == sampled.metric);
    let shown = |value: f64| metrics::value(metric, value);
    let counted = |requests: f64| format!("of {} requests", number(requests));
    match &sampled.sample {
        Sample::Value(value) => Outcome::good(format!("{} now", shown(*value))),
        Sample::Ratio { numerator, denominator } => {
            let pair = (numerator.unwrap_or(0.0), denominator.unwrap_or(0.0));
            match ratio(&[pair]) {
                Some(value) => Outcome::good(format!("{} {} now", shown(value), counted(pair.1))),
                None => nothing(view, sampled, "no request was counted"),
            }
        }
        Sample::Buckets(buckets) => {
            let q = metric.and_then(|metric| metric.histogram.as_ref()).map_or(0.99, |histogram| histogram.quantile);
            let requests = counted(buckets.last().map_or(0.0, |bucket| bucket.1));
            match quantile(buckets, q) {
                Quantile::Value(value) => Outcome::good(format!("{} {requests} now", shown(value))),
                Quantile::AtLeast(value) => Outcome::good(format!("at least {} {requests} now", shown(value))),
                Quantile::NoData => nothing(view, sampled, "no request was counted"),
            }
        }
        Sample::Missing(why) if why == "no series" => nothing(view, sampled, why),
        Sample::Missing(why) if why.starts_with("source down") => from_hub(view, sampled, why, metric, now),
        Sample::Missing(why) => {
            Outcome::bad(why, "docs/troubleshooting.md, The verdict is UNKNOWN, has a line for each message")
        }
    }
}

/// Nothing was counted. That is as it should be at a member without traffic.
fn nothing(view: &View, sampled: &Sampled, why: &str) -> Outcome {
    let labels = "run the query in that member's Prometheus: do its labels select this service, and is {{ window }} long enough?";
    match view.desired().map(|weights| weights.weight(&sampled.member)) {
        Some(1..) => Outcome::bad(format!("{why}, though the member has weight"), labels),
        Some(0) => Outcome::not_known(format!("{why}; the member has no weight"), "run this again when it has traffic"),
        None => {
            let why = format!("{why}; the hub has not read the weights yet");
            Outcome::not_known(why, "run this again when cutover get shows the rollout as initialized")
        }
    }
}

/// It cannot be queried from here; what the hub saw.
fn from_hub(view: &View, sampled: &Sampled, why: &str, metric: Option<&Metric>, now: Timestamp) -> Outcome {
    let check = view.live().and_then(|run| run.check.as_ref());
    let found = check.and_then(|check| {
        let is_this =
            |one: &&crate::api::status::MetricCheck| one.service == sampled.service && one.metric == sampled.metric;
        let value = check.metrics.iter().find(is_this)?.members.iter().find(|one| one.member == sampled.member)?;
        Some((value, check.at))
    });
    let hub = match found {
        Some((MemberValue { value: Some(value), .. }, at)) => {
            format!("the hub saw {} {} ago", metrics::value(metric, *value), age(at, now))
        }
        Some((MemberValue { missing: Some(missing), .. }, at)) => {
            format!("the hub, {} ago: {missing}", age(at, now))
        }
        Some(_) | None => "the hub has measured nothing yet".to_owned(),
    };
    let remedy = "the lines about the member say why it cannot be queried from here; or run this in the pod of the hub";
    Outcome::not_known(format!("not queried from here: {why}; {hub}"), remedy)
}

#[cfg(test)]
mod tests;
