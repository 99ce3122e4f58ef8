//! Steps that choose requests, on Skipper: those that match reach eu-3 alone, and all others go by weight.

use crate::{
    lab::MEMBERS,
    load::{Load, Plan, ask},
    rollout::{PATIENCE, Rollout, declaration, members, to_eu_3},
    runner::{Place, Scene, Test},
    shares::{Observed, assert_shares},
    stage::{host, steady_load},
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Verb, WRITE_ANNOTATION};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test {
        name: "matches_by_route_group",
        place: Place::Shared,
        run: |scene| Box::pin(async move { promote(&scene, "RouteGroup").await }),
    },
    Test {
        name: "matches_by_ingress_per_member",
        place: Place::Shared,
        run: |scene| Box::pin(async move { promote(&scene, "IngressPerMember").await }),
    },
    Test {
        name: "matches_by_weighted_ingress",
        place: Place::Shared,
        run: |scene| Box::pin(async move { promote(&scene, "Ingress").await }),
    },
    Test { name: "odd_values_in_a_route_group", place: Place::Shared, run: |scene| Box::pin(alternatives(scene)) },
    Test { name: "odd_values_in_ingresses", place: Place::Shared, run: |scene| Box::pin(all_at_once(scene)) },
    Test { name: "a_member_that_leaves_is_chosen_no_more", place: Place::Shared, run: |scene| Box::pin(leaves(scene)) },
];

/// The user agent whose requests are chosen.
const TESTER: &str = "tester";
/// Requests that a condition is tried with.
const TRIES: u64 = 20;

/// Weight of eu-3 at each step, for those who carry the header and for the others.
const SHARES: [(u32, u32); 4] = [(10, 10), (100, 10), (50, 50), (100, 100)];

/// A step for requests of one user agent.
fn by_agent() -> Value {
    json!({"matches": [{"headers": [{"name": "user-agent", "exact": TESTER}]}], "iterations": 3, "wait": "Promotion"})
}

async fn promote(scene: &Scene, form: &str) -> Result<()> {
    let name = &scene.namespace;
    let steps = json!([
        {"progress": "10%", "wait": "Promotion"},
        by_agent(),
        {"progress": "50%", "wait": "Promotion"},
        {"progress": "100%", "wait": "Promotion"},
    ]);
    let rollout = declare(scene, form, steps).await?;
    let plain = steady_load(scene.skipper.address, name).await?;
    let canary = chosen_load(scene);
    rollout.edit(json!({"members": to_eu_3()})).await?;
    for (step, (of_canary, of_plain)) in (1..).zip(SHARES) {
        rollout.at_step(step).await?;
        let before = [observed(scene, TESTER), observed(scene, "")];
        canary.sends(2_100).await?;
        plain.sends(2_100).await?;
        let after = [observed(scene, TESTER), observed(scene, "")];
        for ((before, after), eu_3) in before.iter().zip(&after).zip([of_canary, of_plain]) {
            assert_shares(before, after, &[("eu-1", 100 - eu_3), ("eu-3", eu_3)])?;
        }
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    for load in [plain, canary] {
        load.stop().await.assert_all_ok()?;
    }
    none_chooses(&ingresses(scene).await?).await
}

async fn ingresses(scene: &Scene) -> Result<Api<DynamicObject>> {
    scene.hub.api("networking.k8s.io/v1", "Ingress", &scene.namespace).await
}

/// No Ingress is left that only chose requests.
async fn none_chooses(ingresses: &Api<DynamicObject>) -> Result<()> {
    let all = ingresses.list(&ListParams::default()).await?;
    let left: Vec<String> = all.iter().map(ResourceExt::name_any).filter(|name| name.contains('.')).collect();
    ensure!(left.is_empty(), "Ingresses that only chose requests are left: {left:?}");
    Ok(())
}

/// Requests that are chosen.
fn chosen_load(scene: &Scene) -> Load {
    Load::start(Plan {
        headers: vec![("user-agent", TESTER.to_owned())],
        within: Duration::from_mins(5),
        ..Plan::new(scene.skipper.address, &host(&scene.namespace), u64::MAX)
    })
}

/// Another target, without the member for which requests are chosen now: what chooses them cannot be removed at first,
/// and is not forgotten.
async fn leaves(scene: Scene) -> Result<()> {
    let steps = json!([by_agent(), {"progress": "100%", "wait": "Promotion"}]);
    let rollout = declare(&scene, "IngressPerMember", steps).await?;
    let loads = [steady_load(scene.skipper.address, &scene.namespace).await?, chosen_load(&scene)];
    let stages = json!([{"name": "first", "members": ["eu-2"]}, {"name": "second", "members": ["eu-3"]}]);
    rollout.edit(json!({"members": members([0, 50, 50], [100, 0, 0]), "strategy": {"stages": stages}})).await?;
    for step in 1..3 {
        rollout.at_step(step).await?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.at_step(3).await?;
    let (ingresses, chosen) = (ingresses(&scene).await?, format!("{}-eu-3.matched", scene.namespace));
    keep(&scene, &ingresses, &chosen).await?;
    let stable = format!("{}-eu-1", scene.namespace);
    let before = mark(&ingresses, &stable).await?;
    let without = json!({"members": members([50, 50, 0], [100, 0, 0]), "strategy": {"stages": null}});
    rollout.edit(without).await?;
    eventually("the next write", PATIENCE, async || {
        let now = mark(&ingresses, &stable).await?;
        ensure!(now != before, "{stable} has the mark {now:?}");
        Ok(())
    })
    .await?;
    note(&ingresses, &chosen, &Value::Null).await?;
    eventually("the end of choosing", PATIENCE, async || none_chooses(&ingresses).await).await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    for load in loads {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

/// The last write that left its mark on an Ingress.
async fn mark(ingresses: &Api<DynamicObject>, name: &str) -> Result<Option<String>> {
    Ok(ingresses.get(name).await?.annotations().get(WRITE_ANNOTATION).cloned())
}

/// Admission refuses that this Ingress is removed, as long as it is noted there; returns when that is enforced.
async fn keep(scene: &Scene, ingresses: &Api<DynamicObject>, name: &str) -> Result<()> {
    let policy = &scene.namespace;
    let manifest = format!(
        "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {policy}}}
spec:
  matchConstraints:
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {policy}}}}}
    resourceRules: [{{apiGroups: [networking.k8s.io], apiVersions: ['*'], operations: [DELETE], resources: [ingresses]}}]
  validations:
  - expression: \"!('lab/kept' in oldObject.metadata.annotations)\"
    message: it is kept
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {policy}}}
spec: {{policyName: {policy}, validationActions: [Deny]}}
"
    );
    scene.hub.apply(policy, &manifest).await?;
    note(ingresses, name, &json!("yes")).await?;
    let only_tried = DeleteParams { dry_run: true, ..DeleteParams::default() };
    eventually("the policy", PATIENCE, async || {
        ensure!(ingresses.delete(name, &only_tried).await.is_err(), "not enforced yet");
        Ok(())
    })
    .await
}

/// Notes on an Ingress that it is kept, or that it is not.
async fn note(ingresses: &Api<DynamicObject>, name: &str, kept: &Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {"lab/kept": kept}}});
    ingresses.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// What the members counted of requests of a user agent.
fn observed(scene: &Scene, agent: &str) -> Observed {
    let of = |member: &'static str| scene.member(member).gateway.tally().observed_from(&scene.namespace, agent);
    MEMBERS.iter().map(|member| (*member, of(member))).collect()
}

async fn declare<'s>(scene: &'s Scene, form: &str, steps: Value) -> Result<Rollout<'s>> {
    let name = &scene.namespace;
    let mut declared = declaration(name, &json!({"skipper": {"form": form, "create": {"hosts": [host(name)]}}}));
    if form == "Ingress" {
        declared["spec"]["services"][0]["backend"] = json!({"endpointSlice": {}});
    }
    declared["spec"]["strategy"]["steps"] = steps;
    let rollout = Rollout::declare(scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    Ok(rollout)
}

/// What a request carries: a query, and headers.
type Carried = (&'static str, Vec<(&'static str, &'static str)>);

/// Quotes, slashes, escapes and pieces of eskip.
const ODD: &str = r#"a"b\c/d\\" && True() -> <shunt>; // `e` (f|g)* $"#;

/// Each alternative with a request that it means, and one that it nearly means.
fn odd() -> Vec<(Value, Carried, Carried)> {
    let header = |value| ("/", vec![("x-odd", value)]);
    vec![
        (
            json!({"headers": [{"name": "user-agent", "exact": r#"Lab/1.0 ("odd\" /x/)"#}]}),
            ("/", vec![("user-agent", r#"Lab/1.0 ("odd\" /x/)"#)]),
            ("/", vec![("user-agent", r#"Lab/1x0 ("odd\" /x/)"#)]),
        ),
        (
            json!({"headers": [{"name": "x-odd", "exact": ODD}]}),
            header(ODD),
            header(r#"a"b\c/d\\" && True() -> <shunt>; // `e` (f|g)* $."#),
        ),
        (json!({"headers": [{"name": "x-odd", "prefix": r#"[p"/"#}]}), header(r#"[p"/refix"#), header(r#"x[p"/refix"#)),
        (json!({"headers": [{"name": "X-ODD", "regex": r#"r[/"]\d+|s\\"#}]}), header(r#"r"77"#), header(r#"r"77."#)),
        (
            json!({"cookies": [{"name": "odd", "exact": "a/b(c)&&d|e"}]}),
            ("/", vec![("cookie", "x=1; odd=a/b(c)&&d|e")]),
            ("/", vec![("cookie", "x=1; odd=a/b(c)&&d")]),
        ),
        (
            json!({"query": [{"name": "odd", "exact": r#""\ /"#}]}),
            ("/?odd=%22%5C%20%2F", vec![]),
            ("/?odd=%22%5C", vec![]),
        ),
        (
            json!({"headers": [{"name": "x-odd", "prefix": "both"}, {"name": "X-Odd", "regex": ".*end"}]}),
            header("both to the end"),
            header("both"),
        ),
    ]
}

/// A RouteGroup holds them all: each sends its own requests to eu-3, which has no weight, and no other ones.
async fn alternatives(scene: Scene) -> Result<()> {
    let odd = odd();
    let matches: Vec<&Value> = odd.iter().map(|(sort, ..)| sort).collect();
    let rollout = choose(&scene, "RouteGroup", json!(matches)).await?;
    for (sort, meant, near) in &odd {
        goes_to(&scene, "eu-3", meant, sort).await?;
        goes_to(&scene, "eu-1", near, sort).await?;
    }
    goes_to(&scene, "eu-1", &("/", vec![]), &Value::Null).await?;
    rollout.ask(Verb::Abort).await?;
    comes_back(&scene, &odd[0].1, &odd[0].0).await
}

/// An Ingress holds one match: all conditions must hold.
async fn all_at_once(scene: Scene) -> Result<()> {
    let sort = json!({
        "headers": [{"name": "x-odd", "exact": ODD}],
        "cookies": [{"name": "odd", "regex": "[a-z]/\\d+"}],
        "query": [{"name": "odd", "prefix": "\"\\"}],
    });
    let rollout = choose(&scene, "IngressPerMember", json!([sort])).await?;
    let carried = |query, cookie| (query, vec![("x-odd", ODD), ("cookie", cookie)]);
    goes_to(&scene, "eu-3", &carried("/?odd=%22%5Cx", "odd=b/12"), &sort).await?;
    goes_to(&scene, "eu-1", &carried("/?odd=x%22%5C", "odd=b/12"), &sort).await?;
    goes_to(&scene, "eu-1", &carried("/?odd=%22%5Cx", "odd=b/12c"), &sort).await?;
    goes_to(&scene, "eu-1", &("/?odd=%22%5Cx", vec![("cookie", "odd=b/12")]), &sort).await?;
    rollout.ask(Verb::Abort).await?;
    comes_back(&scene, &carried("/?odd=%22%5Cx", "odd=b/12"), &sort).await
}

/// Stands at a first step that only chooses requests; eu-1 has all weight.
async fn choose<'s>(scene: &'s Scene, form: &str, matches: Value) -> Result<Rollout<'s>> {
    let steps = json!([{"matches": matches, "iterations": 1000}, {"progress": "100%"}]);
    let rollout = declare(scene, form, steps).await?;
    let load = steady_load(scene.skipper.address, &scene.namespace).await?;
    load.sends(100).await?;
    load.stop().await.assert_all_ok()?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.applied(1).await?;
    Ok(rollout)
}

/// After an abort the requests that were chosen go to eu-1, once Skipper has looked at the hub again.
async fn comes_back(scene: &Scene, carried: &Carried, sort: &Value) -> Result<()> {
    eventually("the rollback target", PATIENCE, async || goes_to(scene, "eu-1", carried, sort).await).await
}

/// Every one of some requests is observed by this member.
async fn goes_to(scene: &Scene, member: &'static str, carried: &Carried, sort: &Value) -> Result<()> {
    let (path, headers) = carried;
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let plan = Plan { headers, ..Plan::new(scene.skipper.address, &host(&scene.namespace), TRIES) };
    let before = scene.observed(&scene.namespace);
    for _ in 0..TRIES {
        let status = ask(&plan, path).await?;
        ensure!(status == 200, "{status} for {carried:?}");
    }
    let after = scene.observed(&scene.namespace);
    let got = after[member] - before[member];
    ensure!(got == TRIES, "{member} observed {got} of {TRIES} of {carried:?}, by {sort}: {before:?}, {after:?}");
    Ok(())
}
