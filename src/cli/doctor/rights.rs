//! What the person who looks may do, and what the hub may do, by the roles that the repository has for them.

use futures::{StreamExt, stream};
use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, api::PostParams};

use super::{
    AT_ONCE,
    check::{Check, Outcome, Section, first_line},
    right::{listed, rights},
    shipped::{self, File, Role},
};
use crate::{
    api::Route,
    cli::{CliError, access, cluster::Cluster},
};

/// Whose roles are looked at, and where.
pub(super) struct Roles<'a> {
    /// The namespace of the hub.
    pub(super) hub: &'a str,
    /// The namespace of the rollouts; none for all.
    pub(super) rollouts: Option<&'a str>,
    /// The routes of all rollouts that are looked at.
    pub(super) routes: Vec<&'a Route>,
}

/// Whose rights they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// Those of the person, without which nothing can be looked at.
    Viewer,
    /// Those of the person for the verbs. Not everybody needs them.
    Operator,
    /// Those of the hub.
    Hub,
    /// One that the hub can do without.
    HubOptional,
}

/// One role, and each of its rights.
struct Reviewed {
    whose: Whose,
    file: &'static str,
    role: Role,
    /// Those that are missing; or why it is not known which.
    missing: Result<Vec<ResourceAttributes>, String>,
    count: usize,
}

/// Who looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    Person,
    /// It is run in the hub's pod.
    Hub,
}

pub(super) async fn checks(cluster: &Cluster, wanted: &Roles<'_>) -> Vec<Check> {
    let account = format!("system:serviceaccount:{}:cutover-hub", wanted.hub);
    let looks = if user(cluster).await.as_ref() == Some(&account) { Looks::Hub } else { Looks::Person };
    let roles = match looks {
        Looks::Hub => of_hub(wanted),
        Looks::Person => of_person(wanted).into_iter().chain(of_hub(wanted)).collect(),
    };
    let reviewed = stream::iter(roles).map(async |(whose, file, role)| {
        let needed = needed(whose, &role, wanted);
        let count = needed.len();
        let missing = match (whose, looks) {
            (Whose::Hub | Whose::HubOptional, Looks::Person) => missing(cluster, Some(&account), needed).await,
            (Whose::Viewer | Whose::Operator, _) | (_, Looks::Hub) => missing(cluster, None, needed).await,
        };
        judge(&Reviewed { whose, file: file.path, role, missing, count }, wanted.hub)
    });
    reviewed.buffered(AT_ONCE).collect().await
}

/// The name of the person, where the API server says it.
async fn user(cluster: &Cluster) -> Option<String> {
    let api: Api<SelfSubjectReview> = Api::all(cluster.client.clone());
    let review = cluster.call(&[], api.create(&PostParams::default(), &SelfSubjectReview::default())).await.ok()?;
    review.status?.user_info?.username
}

fn of_person(wanted: &Roles<'_>) -> Vec<(Whose, File, Role)> {
    let whose = |role: &Role| match role.name.as_str() {
        "cutover-viewer" => Some(Whose::Viewer),
        "cutover-operator" => Some(Whose::Operator),
        _ => None,
    };
    let roles = shipped::PEOPLE.roles(wanted.hub).into_iter();
    roles.filter_map(|role| Some((whose(&role)?, shipped::PEOPLE, role))).collect()
}

fn of_hub(wanted: &Roles<'_>) -> Vec<(Whose, File, Role)> {
    let mut files = vec![(Whose::Hub, shipped::HUB)];
    for file in wanted.routes.iter().filter_map(|route| shipped::of_route(route)) {
        if !files.iter().any(|(_, known)| *known == file) {
            files.push((Whose::Hub, file));
        }
    }
    files.push((Whose::HubOptional, shipped::HUB_TOKEN_RENEWAL));
    let roles = |(whose, file): (Whose, File)| file.roles(wanted.hub).into_iter().map(move |role| (whose, file, role));
    files.into_iter().flat_map(roles).collect()
}

/// The rights of a role that matter here.
fn needed(whose: Whose, role: &Role, wanted: &Roles<'_>) -> Vec<ResourceAttributes> {
    match whose {
        Whose::Hub | Whose::HubOptional => rights(&role.rules, role.namespace.as_deref()),
        Whose::Viewer | Whose::Operator => {
            let mut rights = rights(&role.rules, wanted.rollouts);
            rights.retain(|right| is_for_rollouts(right, &wanted.routes, wanted.hub));
            for right in rights.iter_mut().filter(|right| right.resource.as_deref() == Some("memberclusters")) {
                right.namespace = None;
            }
            rights
        }
    }
}

/// Kinds of cutover, and those of routes that rollouts use. The Lease is simply read.
fn is_for_rollouts(right: &ResourceAttributes, routes: &[&Route], hub: &str) -> bool {
    let group = right.group.as_deref().unwrap_or_default();
    let is_used = |route: &&Route| match shipped::of_route(route) {
        Some(file) => {
            let rules = file.roles(hub).into_iter().flat_map(|role| role.rules);
            rules.flat_map(|rule| rule.api_groups.unwrap_or_default()).any(|used| used == group)
        }
        None => group.is_empty(),
    };
    group == crate::api::GROUP || routes.iter().any(is_used)
}

/// The rights that an account, or the person, does not have.
async fn missing(
    cluster: &Cluster,
    account: Option<&str>,
    needed: Vec<ResourceAttributes>,
) -> Result<Vec<ResourceAttributes>, String> {
    let reviews = stream::iter(needed).map(async |right| {
        let allowed = match account {
            Some(account) => cluster.call(&[], of_account(cluster, account, right.clone())).await,
            None => cluster.call(&[], access::own(&cluster.client, right.clone())).await,
        };
        allowed.map(|allowed| (!allowed).then_some(right)).map_err(|error: CliError| first_line(&error))
    });
    let answers: Vec<Result<Option<ResourceAttributes>, String>> = reviews.buffered(AT_ONCE).collect().await;
    answers.into_iter().filter_map(Result::transpose).collect()
}

async fn of_account(cluster: &Cluster, account: &str, right: ResourceAttributes) -> kube::Result<bool> {
    let namespace = account.split(':').nth(2).unwrap_or_default();
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ];
    let spec = SubjectAccessReviewSpec {
        user: Some(account.to_owned()),
        groups: Some(groups.into()),
        resource_attributes: Some(right),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let answer =
        Api::<SubjectAccessReview>::all(cluster.client.clone()).create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

fn judge(reviewed: &Reviewed, hub: &str) -> Check {
    let Reviewed { whose, file, role, missing, count } = reviewed;
    let subject = match whose {
        Whose::Viewer | Whose::Operator => format!("you as {}", role.name),
        Whose::Hub | Whose::HubOptional => {
            let place = role.namespace.as_ref().map(|namespace| format!(" in {namespace}")).unwrap_or_default();
            format!("the hub by {} {}{place}", role.kind, role.name)
        }
    };
    let outcome = match (missing, whose) {
        (Err(why), Whose::Viewer | Whose::Operator) => {
            Outcome::not_known(why, format!("kubectl auth can-i --list; the role is in {file}"))
        }
        (Err(why), Whose::Hub | Whose::HubOptional) => Outcome::not_known(why, in_the_pod(hub)),
        (Ok(missing), _) if missing.is_empty() => Outcome::good(format!(
            "has {} of {file}",
            if *count == 1 { "the right".to_owned() } else { format!("all {count} rights") }
        )),
        (Ok(missing), Whose::Viewer) => {
            Outcome::bad(format!("you may not {}", listed(missing)), format!("ask for the ClusterRole {}", role.name))
        }
        (Ok(missing), Whose::Operator) => Outcome::not_known(
            format!("you may not {}; that is right if you only look on", listed(missing)),
            format!("else ask for the ClusterRole {}", role.name),
        ),
        (Ok(missing), Whose::Hub) => Outcome::bad(
            format!("the hub may not {}", listed(missing)),
            format!("apply {file}; cutover install prints it"),
        ),
        (Ok(missing), Whose::HubOptional) => Outcome::not_known(
            format!("the hub may not {}, so it renews no token of a member", listed(missing)),
            format!("apply {file}, or renew them with: cutover member kubeconfig"),
        ),
    };
    Check::new(Section::Rights, subject, outcome)
}

/// How the hub looks at its own rights.
fn in_the_pod(hub: &str) -> String {
    format!("as the hub itself: kubectl exec -n {hub} deploy/cutover-hub -- /cutover doctor -A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reviewed(whose: Whose, missing: Result<usize, &str>) -> Outcome {
        let file = match whose {
            Whose::Viewer | Whose::Operator => shipped::PEOPLE,
            Whose::Hub => shipped::HUB,
            Whose::HubOptional => shipped::HUB_TOKEN_RENEWAL,
        };
        let role = file.roles("cutover-system").remove(0);
        let all = rights(&role.rules, None);
        let missing = missing.map(|count| all[..count].to_vec()).map_err(str::to_owned);
        judge(&Reviewed { whose, file: file.path, role, missing, count: all.len() }, "cutover-system").outcome
    }

    #[test]
    fn a_right_that_the_hub_lacks_is_bad_and_names_the_file() {
        assert_eq!(
            reviewed(Whose::Hub, Ok(2)),
            Outcome::bad(
                "the hub may not get, list fleetrollouts.cutover.dev",
                "apply config/rbac/hub.yaml; cutover install prints it"
            )
        );
        assert!(
            matches!(reviewed(Whose::Hub, Ok(0)), Outcome::Good(what) if what.ends_with("of config/rbac/hub.yaml"))
        );
    }

    #[test]
    fn what_not_everybody_needs_is_not_bad() {
        assert!(matches!(reviewed(Whose::Viewer, Ok(1)), Outcome::Bad { .. }));
        assert!(matches!(reviewed(Whose::Operator, Ok(1)), Outcome::NotKnown { .. }));
        assert!(matches!(reviewed(Whose::HubOptional, Ok(1)), Outcome::NotKnown { .. }));
    }

    #[test]
    fn where_the_rights_of_the_hub_may_not_be_reviewed_the_hub_can_do_it() {
        assert_eq!(
            reviewed(Whose::Hub, Err("forbidden")),
            Outcome::not_known(
                "forbidden",
                "as the hub itself: kubectl exec -n cutover-system deploy/cutover-hub -- /cutover doctor -A"
            )
        );
    }

    #[test]
    fn of_the_roles_for_routes_only_those_in_use_are_looked_at() {
        let route = |kind: &str| serde_json::from_value(serde_json::json!({kind: {"name": "shop"}})).unwrap();
        let (nginx, service) = (route("nginx"), route("kubernetes"));
        let routes = vec![&nginx, &nginx, &service];
        let wanted = Roles { hub: "cutover-system", rollouts: Some("shop"), routes };
        let files: Vec<&str> = of_hub(&wanted).into_iter().map(|(_, file, _)| file.path).collect();
        assert_eq!(files.iter().filter(|file| file.contains("routes/")).count(), 1, "{files:?}");
        let viewer = of_person(&wanted).remove(0).2;
        let needed = needed(Whose::Viewer, &viewer, &wanted);
        let of_routes = needed.iter().filter(|right| right.group.as_deref() != Some(crate::api::GROUP));
        assert_eq!(listed(&of_routes.cloned().collect::<Vec<_>>()), "get ingresses.networking.k8s.io; get services");
    }
}
