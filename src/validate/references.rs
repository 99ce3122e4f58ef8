//! What rollouts refer to, as far as it is in the same files: templates, members and other rollouts.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    analysis::{limits, queries},
    document::spec,
    problem::{Problem, quoted},
    promql,
    suggestion::nearest,
    template::{kind, misfits},
};
use crate::{
    api::{
        Alert, FleetRolloutSpec, GROUP, MemberClusterSpec, Metric, MetricTemplateSpec,
        member::{AllowedNamespaces, NamespacesFrom},
    },
    metric::variables::filled,
    rollout::dependencies::cycle,
    yaml::Document,
};

/// Where an object is: its kind, its namespace (empty where none is named) and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    kind: String,
    namespace: String,
    name: String,
}

impl Place {
    pub(super) fn of(document: &Document) -> Self {
        let text =
            |path: &str| document.value.pointer(path).and_then(|text| text.as_str()).unwrap_or_default().to_owned();
        Self { kind: text("/kind"), namespace: text("/metadata/namespace"), name: text("/metadata/name") }
    }
}

/// The objects of some files that others refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    first: BTreeMap<Place, (String, u64)>,
    templates: BTreeMap<(String, String), MetricTemplateSpec>,
    depends_on: BTreeMap<(String, String), Vec<String>>,
    alert_providers: BTreeSet<(String, String)>,
    /// `None` of a member whose declaration cannot be read.
    members: BTreeMap<String, Option<AllowedNamespaces>>,
}

impl Known {
    /// What these documents hold, each with the name of its file. What cannot be read is a problem of its own file.
    pub(super) fn of<'d>(documents: impl IntoIterator<Item = (&'d str, &'d Document)>) -> Self {
        let mut known = Self::default();
        let is_ours = |document: &Document| {
            document.value["apiVersion"].as_str().is_some_and(|version| version.starts_with(GROUP))
        };
        for (file, document) in documents.into_iter().filter(|(_, document)| is_ours(document)) {
            let place = Place::of(document);
            known.add(document, (place.namespace.clone(), place.name.clone()));
            known.first.entry(place).or_insert_with(|| (file.to_owned(), document.line("")));
        }
        known
    }

    fn add(&mut self, document: &Document, place: (String, String)) {
        match document.value["kind"].as_str() {
            Some("MetricTemplate") => self.templates.extend(spec(document).map(|spec| (place, spec))),
            Some("MemberCluster") => {
                let allowed = spec(document).map(|spec: MemberClusterSpec| spec.allowed_namespaces);
                self.members.insert(place.1, allowed);
            }
            Some("AlertProvider") => {
                self.alert_providers.insert(place);
            }
            Some("FleetRollout") => {
                let names = |spec: FleetRolloutSpec| spec.depends_on.into_iter().map(|one| one.name).collect();
                self.depends_on.extend(spec(document).map(|spec| (place, names(spec))));
            }
            _ => {}
        }
    }

    /// An object that is declared before, in this file or another one: of two, only the one that is applied last holds.
    pub(super) fn declared_twice(&self, place: &Place, file: &str, line: u64) -> Option<Problem> {
        let (first, at) = self.first.get(place).filter(|_| !place.name.is_empty())?;
        let is_second = (first.as_str(), *at) != (file, line);
        is_second.then(|| {
            let found = format!("{} {} is declared twice", place.kind, quoted(&place.name));
            Problem::error("metadata.name", found, format!("{first}:{at} is the first one; keep one of them"))
        })
    }

    /// Whether any member is declared, so that others are missed.
    pub(super) fn has_members(&self) -> bool {
        !self.members.is_empty()
    }

    /// Members that no file declares, or that do not allow the rollout's namespace.
    pub(super) fn members(&self, namespace: &str, spec: &FleetRolloutSpec) -> Vec<Problem> {
        let members = spec.members.iter().enumerate();
        members
            .filter_map(|(i, member)| {
                let path = format!("spec.members[{i}].name");
                match self.members.get(&member.name) {
                    None => {
                        let found = format!("no MemberCluster {} is declared in these files", quoted(&member.name));
                        let near = nearest(&member.name, self.members.keys().map(String::as_str));
                        let remedy = near.map_or("add it, if the cluster does not have it".to_owned(), |near| {
                            format!("did you mean {near}?")
                        });
                        Some(Problem::warning(path, found, remedy))
                    }
                    Some(Some(allowed)) if refuses(allowed, namespace) => {
                        let found = format!(
                            "MemberCluster {} does not allow namespace {}",
                            quoted(&member.name),
                            quoted(namespace)
                        );
                        Some(Problem::error(path, found, "add it to spec.allowedNamespaces.names of the MemberCluster"))
                    }
                    Some(_) => None,
                }
            })
            .collect()
    }

    /// What is wrong between a rollout and what it refers to.
    pub(super) fn problems(&self, namespace: &str, name: &str, spec: &FleetRolloutSpec) -> Vec<Problem> {
        let metrics = spec.analysis.metrics.iter().enumerate();
        let mut problems: Vec<Problem> = metrics
            .flat_map(|(i, metric)| self.template(&format!("spec.analysis.metrics[{i}]"), namespace, metric))
            .collect();
        problems.extend(self.alerts(namespace, spec));
        problems.extend(self.waits_for_itself(namespace, name, spec));
        problems
    }

    /// Alert providers that no file declares, where some declare others of the namespace.
    fn alerts(&self, namespace: &str, spec: &FleetRolloutSpec) -> Vec<Problem> {
        let declared = self.alert_providers.iter().filter(|(of, _)| of == namespace);
        let declared: Vec<&str> = declared.map(|(_, name)| name.as_str()).collect();
        let unknown = spec
            .alerts
            .iter()
            .enumerate()
            .filter(|(_, alert)| !declared.is_empty() && !declared.contains(&alert.provider_ref.name.as_str()));
        let problem = |(i, alert): (usize, &Alert)| {
            let name = &alert.provider_ref.name;
            let found = format!("no AlertProvider {} is declared in these files", quoted(name));
            let near = nearest(name, declared.iter().copied());
            let remedy = near
                .map_or("add it, if the namespace does not have it".to_owned(), |near| format!("did you mean {near}?"));
            Problem::warning(format!("spec.alerts[{i}].providerRef.name"), found, remedy)
        };
        unknown.map(problem).collect()
    }

    fn template(&self, path: &str, namespace: &str, metric: &Metric) -> Vec<Problem> {
        let reference = metric.template_ref.as_ref();
        let known = reference.and_then(|one| self.templates.get(&(namespace.to_owned(), one.name.clone())));
        let Some(template) = known else { return Vec::new() };
        let plain = match filled(template, &metric.variables) {
            Ok(plain) => plain,
            Err(misfit) => return vec![misfits(&format!("{path}.variables"), &misfit)],
        };
        let resolved = Metric {
            template_ref: None,
            ratio: plain.ratio.clone(),
            histogram: plain.histogram.clone(),
            query: plain.query.clone(),
            ..metric.clone()
        };
        let said = limits(path, metric);
        let mut problems: Vec<Problem> =
            limits(path, &resolved).into_iter().filter(|problem| !said.contains(problem)).collect();
        let path = format!("{path}.variables");
        let given = queries(&path, kind(&plain)).into_iter().filter(|_| !metric.variables.is_empty());
        problems.extend(given.filter_map(|(_, query)| promql::read(&path, query).err()));
        problems
    }

    fn waits_for_itself(&self, namespace: &str, name: &str, spec: &FleetRolloutSpec) -> Option<Problem> {
        let of =
            |name: &str| self.depends_on.get(&(namespace.to_owned(), name.to_owned())).cloned().unwrap_or_default();
        spec.depends_on.iter().enumerate().find_map(|(i, first)| {
            let way = cycle(name, &first.name, &of)?;
            let way: Vec<String> = way.iter().map(|name| quoted(name)).collect();
            let found = format!("each depends on the next one: {}", way.join(" -> "));
            Some(Problem::error(format!("spec.dependsOn[{i}].name"), found, "remove one of them"))
        })
    }
}

fn refuses(allowed: &AllowedNamespaces, namespace: &str) -> bool {
    allowed.from == NamespacesFrom::Names
        && !namespace.is_empty()
        && !allowed.names.iter().any(|name| name == namespace)
}

#[cfg(test)]
mod tests {
    use crate::validate::file;

    const TEMPLATE: &str = "
apiVersion: cutover.dev/v1alpha1
kind: MetricTemplate
metadata: {name: errors, namespace: shop}
spec:
  variables: [{name: code, default: 5..}, {name: factor, type: Number}]
  QUERY
---
";

    const ROLLOUT: &str = "
apiVersion: cutover.dev/v1alpha1
kind: FleetRollout
metadata: {name: shop, namespace: shop}
spec:
  services: [{name: storefront, port: 80, routes: [{gatewayAPI: {name: public}}]}]
  members: [{name: eu-1, weight: 0, initialWeight: 100}, {name: eu-3, weight: 100}]
  analysis:
    metrics:
      - METRIC
";

    const QUERY: &str = "query: '{{ variables.factor }} * sum(rate(x{code=~\"{{ variables.code }}\",s=\"{{ service }}\"}[{{ window }}]))'";

    fn said(query: &str, metric: &str) -> Vec<String> {
        let text = TEMPLATE.replace("QUERY", query) + &ROLLOUT.replace("METRIC", metric);
        file(&text).problems.iter().map(|found| found.problem.to_string()).collect()
    }

    #[test]
    fn a_metric_is_checked_with_the_template_that_is_in_the_same_files() {
        let metric = |rest: &str| format!("{{name: errors, templateRef: {{name: errors}}, {rest}}}");
        assert!(said(QUERY, &metric("perMember: {max: 1}, variables: {factor: '2', code: '4..|5..'}")).is_empty());
        for (rest, problem) in [
            (
                "perMember: {max: 1}",
                "spec.analysis.metrics[0].variables: variable factor has no default; give it in variables",
            ),
            (
                "perMember: {max: 1}, variables: {factor: a, code: '5..'}",
                "spec.analysis.metrics[0].variables: variable factor: \"a\" is no number; write digits, such as 0.5",
            ),
            (
                "max: 1, variables: {factor: '1'}",
                "spec.analysis.metrics[0]: limits a merged value, but a query cannot be merged over members; put max and min under perMember",
            ),
            (
                "perMember: {max: 1}, variables: {factor: '1', cod: '5..'}",
                "spec.analysis.metrics[0].variables: variable cod is not declared in it; leave it out, or correct the name",
            ),
        ] {
            assert_eq!(said(QUERY, &metric(rest)), [problem]);
        }
        let unknown = "{name: errors, templateRef: {name: elsewhere}, max: 1}";
        assert!(said(QUERY, unknown).is_empty(), "the cluster may have it");
    }

    #[test]
    fn a_template_is_checked_by_itself() {
        let metric = "{name: errors, builtin: {type: RequestSuccessRate, ingress: Skipper}, min: 99}";
        assert!(said(QUERY, metric).is_empty());
        for (query, problems) in [
            (
                "query: 'sum(up{a=\"{{ variables.cod }}\"}) * {{ variables.factor }}'",
                &[
                    "warning: spec.variables[0].name: \"code\" is not used in any query; leave it out, or use {{ variables.NAME }}",
                    "spec.query: variable \"cod\" is not declared in spec.variables; did you mean code?",
                ][..],
            ),
            (
                "query: 'sum(up) * {{ variables.code }} * {{ variables.factor }}'",
                &[
                    "spec.variables: variable code is a text and stands outside of quotes; put it into a string, or make it a Number or Duration",
                ],
            ),
            ("query: 'sum(up{a=\"{{ variables.code }}\"}) {{ variables.factor }}'", &["spec.query: is not PromQL: "]),
        ] {
            let said = said(query, metric);
            assert_eq!(said.len(), problems.len(), "{said:?}");
            assert!(said.iter().zip(problems).all(|(said, problem)| said.starts_with(problem)), "{said:?}");
        }
    }

    #[test]
    fn built_in_metrics_have_units_of_their_own() {
        for (metric, problem) in [
            (
                "{name: success, builtin: {type: RequestSuccessRate, ingress: Contour}, min: 990}",
                "spec.analysis.metrics[0].min: 990 is not a percentage; a ratio is in percent, from 0 to 100",
            ),
            (
                "{name: success, builtin: {type: RequestSuccessRate, ingress: Contour, quantile: 0.5}, min: 99}",
                "spec.analysis.metrics[0].builtin.quantile: 0.5 is given, but a RequestSuccessRate has none; leave it out",
            ),
            (
                "{name: success, builtin: {type: RequestSuccessRate, ingress: Contour}, query: up, min: 99}",
                "spec.analysis.metrics[0]: query and builtin are both given; give exactly one of ratio, histogram, query, templateRef, builtin",
            ),
            (
                "{name: success, builtin: {type: RequestDuration, ingress: Skiper}, max: 0.5}",
                "spec.analysis.metrics[0].builtin.ingress: \"Skiper\" is not allowed; write one of Skipper, Contour, IngressNginx, Istio",
            ),
        ] {
            assert_eq!(said(QUERY, metric), [problem]);
        }
    }

    #[test]
    fn rollouts_that_wait_for_each_other_are_found() {
        let one = |name: &str, depends: &str| {
            let metric = "{name: success, builtin: {type: RequestSuccessRate, ingress: Contour}, min: 99}";
            ROLLOUT
                .replace("METRIC", metric)
                .replace("{name: shop, ", &format!("{{name: {name}, "))
                .trim_end()
                .to_owned()
                + &format!("\n  dependsOn: [{depends}]\n---\n")
        };
        let said =
            |text: &str| -> Vec<String> { file(text).problems.iter().map(|found| found.problem.to_string()).collect() };
        assert!(said(&(one("a", "{name: b}, {name: c}") + &one("b", "{name: c}"))).is_empty());
        assert_eq!(
            said(&(one("a", "{name: b}") + &one("b", "{name: a}"))),
            [
                "spec.dependsOn[0].name: each depends on the next one: \"a\" -> \"b\" -> \"a\"; remove one of them",
                "spec.dependsOn[0].name: each depends on the next one: \"b\" -> \"a\" -> \"b\"; remove one of them",
            ]
        );
        assert_eq!(
            said(&one("a", "{name: a}")),
            ["spec.dependsOn[0].name: each depends on the next one: \"a\" -> \"a\"; remove one of them"]
        );
    }
}
