//! The `order` of a canary's rules on a load balancer of Alibaba Cloud, found in what all Ingresses show.
//!
//! The smaller number is tried first. A canary takes the nearest number before its stable Ingress that nobody has: so it
//! stands before no rule that the stable one does not stand before as well, unless that rule is for other requests.
//! Numbers that any Ingress of the cluster has said are taken, whatever its load balancer: several classes may share one.
//! Nothing locks them. Two that took the same number at once see it in what they wrote, and the one whose uid is larger
//! takes another.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::json::items;
use crate::object::describe;
use crate::object::owner::is_made_by_cutover;

const ORDER: &str = "alb.ingress.kubernetes.io/order";
/// What an Ingress has that says none.
const DEFAULT: u32 = 10;
const MOST: u32 = 1000;
const CLASS: &str = "kubernetes.io/ingress.class";

/// The canary has a number of its own before that of its stable Ingress.
pub(super) fn has_free_order(
    neighbours: &[Arc<DynamicObject>],
    stable: &DynamicObject,
    canary: &DynamicObject,
) -> bool {
    let Some(order) = declared_order(canary).filter(|order| (1..order_of(stable)).contains(order)) else {
        return false;
    };
    let yields = |other: &DynamicObject| !is_made_by_cutover(other) || other.uid() < canary.uid();
    order != DEFAULT && !others(neighbours, canary).any(|other| declared_order(other) == Some(order) && yields(other))
}

/// The number to take; in words, why there is none.
pub(super) fn free_order(
    neighbours: &[Arc<DynamicObject>],
    stable: &DynamicObject,
    canary: &DynamicObject,
) -> Result<u32, String> {
    let last = order_of(stable);
    let hidden = others(neighbours, canary)
        .filter(|other| !is_same(other, stable) && class(other) == class(stable) && hides(canary, other))
        .map(order_of)
        .filter(|order| *order <= last)
        .max()
        .unwrap_or(0);
    let is_taken =
        |order: u32| order == DEFAULT || others(neighbours, canary).any(|other| declared_order(other) == Some(order));
    (hidden + 1..last).rev().find(|order| !is_taken(*order)).ok_or_else(|| {
        let title = describe(stable);
        let below = if hidden == 0 { String::new() } else { format!(" and after the more special rules at {hidden}") };
        format!("{title}: no {ORDER} is free before its own, {last}{below}: give it a larger one, up to {MOST}")
    })
}

/// Gives an Ingress a number.
pub(super) fn set_order(object: &mut DynamicObject, order: u32) {
    object.annotations_mut().insert(ORDER.to_owned(), order.to_string());
}

/// All that is read of an Ingress that is a neighbour of others: annotations, and fields beside its metadata.
pub(super) fn read_of(object: &DynamicObject) -> (BTreeMap<String, String>, Value) {
    let read = |key: &str| [ORDER, CLASS].contains(&key);
    let annotations = object.annotations().iter().filter(|(key, _)| read(key));
    let annotations = annotations.map(|(key, value)| (key.clone(), value.clone())).collect();
    let place = |(host, path): (&str, &str)| json!({"host": host, "http": {"paths": [{"path": path}]}});
    let rules: Vec<Value> = places(object).map(place).collect();
    let spec = json!({"ingressClassName": object.data.pointer("/spec/ingressClassName"), "rules": rules});
    (annotations, json!({"spec": spec}))
}

fn others<'o>(
    neighbours: &'o [Arc<DynamicObject>],
    canary: &'o DynamicObject,
) -> impl Iterator<Item = &'o DynamicObject> {
    neighbours.iter().map(AsRef::as_ref).filter(|other| !is_same(other, canary))
}

fn is_same(one: &DynamicObject, other: &DynamicObject) -> bool {
    (one.namespace(), one.name_any()) == (other.namespace(), other.name_any())
}

fn declared_order(object: &DynamicObject) -> Option<u32> {
    object.annotations().get(ORDER)?.parse().ok().filter(|order| (1..=MOST).contains(order))
}

fn order_of(object: &DynamicObject) -> u32 {
    declared_order(object).unwrap_or(DEFAULT)
}

fn class(object: &DynamicObject) -> Option<&str> {
    let annotated = || object.annotations().get(CLASS).map(String::as_str);
    object.data.pointer("/spec/ingressClassName").and_then(|class| class.as_str()).or_else(annotated)
}

/// Some request that the other one has a rule for is taken by a rule of the canary.
fn hides(canary: &DynamicObject, other: &DynamicObject) -> bool {
    let of_canary: Vec<(&str, &str)> = places(canary).collect();
    places(other).any(|(host, path)| {
        let takes = |(ours, prefix): &(&str, &str)| (ours.is_empty() || *ours == host) && path.starts_with(prefix);
        of_canary.iter().any(takes)
    })
}

/// Host and path of every rule; empty for all hosts.
fn places(object: &DynamicObject) -> impl Iterator<Item = (&str, &str)> {
    items(object.data.pointer("/spec/rules")).iter().flat_map(|rule| {
        let host = rule.get("host").and_then(|host| host.as_str()).unwrap_or_default();
        items(rule.pointer("/http/paths"))
            .iter()
            .map(move |path| (host, path.get("path").and_then(|path| path.as_str()).unwrap_or("/")))
    })
}
