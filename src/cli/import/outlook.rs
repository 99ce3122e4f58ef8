//! What adoption would do to the objects of another tool, in words. Pure.

use std::collections::BTreeSet;

use kube::{ResourceExt, core::DynamicObject};
use serde_json::Value;

use super::super::text::{WIDTH, escape, wrap};
use crate::{
    api::{CANARY, MemberCluster, PRIMARY, Reason, ServiceCopy, copy::LEADS_TO_ANNOTATION},
    backend,
    import::Tool,
    object::{
        Context, Owner,
        owner::{INSTANCE, MANAGED_BY},
    },
    rollout::input::SourceSeen,
};

/// The object of another tool that a rollout would take the place of.
pub(super) struct Subject<'s> {
    pub(super) tool: Tool,
    pub(super) object: &'s Value,
}

/// The Services of a rollout in service mode, as they are.
pub(super) struct Services {
    pub(super) own: Option<DynamicObject>,
    pub(super) primary: Option<DynamicObject>,
    pub(super) canary: Option<DynamicObject>,
}

impl Subject<'_> {
    fn title(&self) -> String {
        let name = self.object["metadata"]["name"].as_str().unwrap_or_default();
        format!("{} {name}", self.tool.subject().kind)
    }

    /// What it would become, and whether it is at rest.
    pub(super) fn outlook(&self, context: &Context<'_>) -> (String, bool) {
        let phase = self.object["status"]["phase"].as_str().unwrap_or_default();
        let at_rest = self.tool.at_rest();
        let becomes = format!("{} would become FleetRollout {}, in service mode", self.title(), context.rollout);
        if at_rest.contains(&phase) {
            return (line(&format!("{becomes}; it is {phase}")), true);
        }
        let phase = if phase.is_empty() { "without a phase" } else { phase };
        (line(&format!("{becomes}; it is {phase}: wait until it is {}", at_rest.join(" or "))), false)
    }

    /// How it goes without taking traffic along.
    fn leaves(&self, namespace: &str) -> ToDo {
        let name = self.object["metadata"]["name"].as_str().unwrap_or_default();
        let title = self.title();
        let (what, command) = match self.tool {
            Tool::Flagger => (
                format!("take {title} away and leave its objects (docs/coming-from-flagger.md)"),
                format!("kubectl delete canary {name} -n {namespace} --cascade=orphan"),
            ),
            Tool::ArgoRollouts => (
                format!("make its Pods your own, then take {title} away (docs/coming-from-argo-rollouts.md)"),
                format!("kubectl delete rollouts.argoproj.io {name} -n {namespace} --cascade=orphan"),
            ),
            Tool::Kruise => (
                format!("make its Pods your own, then take {title} away (docs/coming-from-argo-rollouts.md)"),
                format!("kubectl delete rollouts.rollouts.kruise.io {name} -n {namespace}"),
            ),
        };
        ToDo { what, command: Some(command) }
    }
}

/// What a person is to do, and what to type for that.
struct ToDo {
    what: String,
    command: Option<String>,
}

impl ToDo {
    /// A command is never broken, so that it can be copied.
    fn lines(&self) -> String {
        let command = self.command.iter().map(|command| format!("  $ {}\n", escape(command)));
        line(&format!("- {}", self.what)) + &command.collect::<String>()
    }
}

impl Services {
    /// What would become of them; and whether each can be used.
    pub(super) fn outlook(&self, context: &Context<'_>) -> (String, bool) {
        let (mut text, mut usable) = self.of_user(context);
        for (slot, object) in [(PRIMARY, &self.primary), (CANARY, &self.canary)] {
            let Some(promoted) = context.copies.get(PRIMARY) else { continue };
            let (said, can_be_used) = copy(context, object.as_ref(), promoted);
            text.push_str(&line(&format!("Service/{}: {said}", backend::name(context.service, slot))));
            usable &= can_be_used;
        }
        (text, usable)
    }

    /// The Service that says what is to be tried.
    fn of_user(&self, context: &Context<'_>) -> (String, bool) {
        let name = &context.service.name;
        let (said, usable) = match backend::source(context, self.own.as_ref()) {
            // Which names the hub was started with is not known here.
            SourceSeen::Unusable(problem) if problem.reason == Reason::AddressNotAllowed => (problem.message, true),
            SourceSeen::Unusable(problem) => (format!("{}: {}", problem.reason, problem.message), false),
            SourceSeen::Found(own) if context.copies.get(PRIMARY).is_some_and(|promoted| promoted.spec != own.spec) => {
                (
                    format!(
                        "leads elsewhere than {name}-primary, so a run would begin at once; let it lead to what serves"
                    ),
                    false,
                )
            }
            SourceSeen::Found(_) => ("stays as it is; a change of it begins a run".to_owned(), true),
        };
        (line(&format!("Service/{name}: {said}")), usable)
    }

    /// What is to be done before the rollout is applied.
    pub(super) fn to_do(&self, context: &Context<'_>, subject: &Subject<'_>, members: &[MemberCluster]) -> String {
        let Context { namespace, rollout, .. } = *context;
        let mut to_do = vec![subject.leaves(namespace)];
        let foreign: Vec<String> = [&self.primary, &self.canary]
            .into_iter()
            .flatten()
            .filter(|object| Owner::of(object, context) == Owner::Foreign)
            .map(ResourceExt::name_any)
            .collect();
        if !foreign.is_empty() {
            let services = foreign.join(" ");
            to_do.push(ToDo {
                what: "give to the rollout what it will change".to_owned(),
                command: Some(format!(
                    "kubectl label service {services} -n {namespace} --overwrite {MANAGED_BY}=cutover {INSTANCE}={rollout}"
                )),
            });
        }
        let services = [&self.own, &self.primary, &self.canary].into_iter().flatten();
        let (known, silent): (Vec<_>, Vec<_>) = services.partition(|object| leads_to(object).is_some());
        if !silent.is_empty() {
            let services: Vec<String> = silent.into_iter().map(ResourceExt::name_any).collect();
            to_do.push(ToDo {
                what: "say to which MemberCluster they lead, whose Prometheus is read".to_owned(),
                command: Some(format!(
                    "kubectl annotate service {} -n {namespace} {LEADS_TO_ANNOTATION}=MEMBER",
                    services.join(" ")
                )),
            });
        }
        let named: BTreeSet<&str> = known.into_iter().filter_map(leads_to).collect();
        let is_missing = |name: &&str| !members.iter().any(|member| member.name_any() == *name);
        let missing: Vec<&str> = named.into_iter().filter(is_missing).collect();
        if !missing.is_empty() || members.is_empty() {
            let which = if missing.is_empty() { "the cluster".to_owned() } else { missing.join(", ") };
            let what = format!("register {which} as MemberCluster (docs/tutorial.md)");
            to_do.push(ToDo { what, command: None });
        }
        let lines: String = to_do.iter().map(ToDo::lines).collect();
        format!("before the rollout is applied:\n{lines}")
    }
}

fn leads_to(object: &DynamicObject) -> Option<&str> {
    object.annotations().get(LEADS_TO_ANNOTATION).map(String::as_str)
}

/// What would become of the Service of primary or canary.
fn copy(context: &Context<'_>, object: Option<&DynamicObject>, promoted: &ServiceCopy) -> (String, bool) {
    let Some(object) = object else { return ("would be made".to_owned(), true) };
    match Owner::of(object, context) {
        Owner::Other(uid) => (format!("belongs to the rollout with uid {uid}"), false),
        Owner::This | Owner::Released => ("would be taken up".to_owned(), true),
        Owner::Foreign if backend::service_copy(object).spec == promoted.spec => {
            ("stays as it is until a run changes it".to_owned(), true)
        }
        Owner::Foreign => ("leads elsewhere than what serves, and would be changed first".to_owned(), true),
    }
}

fn line(text: &str) -> String {
    format!("{}\n", wrap(&escape(text), WIDTH, 2))
}
