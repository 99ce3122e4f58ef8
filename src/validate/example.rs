//! A few lines that could stand where a block is missing.

/// The kind, the path of the block without places in lists, and the lines, beginning with its key.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "FleetRollout",
        "spec.services",
        "services:\n  - name: storefront          # the Service that clients know\n    port: 80\n    routes:\n      - gatewayAPI: {name: public}     # the HTTPRoute that holds the weights\n",
    ),
    (
        "FleetRollout",
        "spec.members",
        "members:\n  - {name: eu-1, weight: 0, initialWeight: 100}     # leaves\n  - {name: eu-3, weight: 100}                       # comes\n",
    ),
    (
        "FleetRollout",
        "spec.strategy.steps",
        "steps:\n  - {progress: 10%, wait: Promotion}\n  - {progress: 50%}\n  - {progress: 100%}\n",
    ),
    (
        "FleetRollout",
        "spec.services.routes",
        "routes:\n  - gatewayAPI: {name: public}         # the HTTPRoute that holds the weights\n",
    ),
    (
        "FleetRollout",
        "spec.analysis",
        "analysis:\n  metrics:\n    - name: success\n      builtin: {type: RequestSuccessRate, ingress: Contour}\n      min: 99                          # percent\n      guard: {min: 80}                 # one check below it rolls back\n",
    ),
    (
        "FleetRollout",
        "spec.analysis.metrics",
        "metrics:\n  - name: success\n    builtin: {type: RequestSuccessRate, ingress: Contour}\n    min: 99                            # percent\n    guard: {min: 80}                   # one check below it rolls back\n",
    ),
    (
        "MemberCluster",
        "spec.endpoints",
        "endpoints:\n  - host: gateway.eu-3.example.com     # where the hub's data plane reaches this member\n    port: 443\n    tls: {serverName: gateway.eu-3.example.com}\n",
    ),
    ("MemberCluster", "spec.prometheus", "prometheus:\n  url: {address: https://prometheus.eu-3.example.com}\n"),
    ("MemberCluster", "spec.allowedNamespaces", "allowedNamespaces:\n  from: Names\n  names: [shop]\n"),
    (
        "FleetRollout",
        "spec",
        "spec:\n  services: [{name: storefront, port: 80, routes: [{gatewayAPI: {name: public}}]}]\n  members: [{name: eu-1, weight: 0, initialWeight: 100}, {name: eu-3, weight: 100}]\n  analysis:\n    metrics:\n      - {name: success, builtin: {type: RequestSuccessRate, ingress: Contour}, min: 99}\n",
    ),
    (
        "MemberCluster",
        "spec",
        "spec:\n  endpoints: [{host: gateway.eu-3.example.com, port: 80}]\n  prometheus: {url: {address: https://prometheus.eu-3.example.com}}\n  allowedNamespaces: {from: Names, names: [shop]}\n",
    ),
    (
        "MetricTemplate",
        "spec",
        "spec:\n  ratio:\n    numerator: 'sum(increase(http_requests_total{service=\"{{ service }}\",code=~\"5..\"}[{{ window }}]))'\n    denominator: 'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'\n",
    ),
];

/// What could stand at a path of an object of this kind.
pub(super) fn of(kind: &str, path: &str) -> Option<&'static str> {
    let plain = without_places(path);
    EXAMPLES.iter().find(|(of, at, _)| (*of, *at) == (kind, plain.as_str())).map(|(.., lines)| *lines)
}

/// `spec.services[0].routes` without `[0]`.
fn without_places(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::{EXAMPLES, without_places};
    use crate::validate::file;

    /// The object of this kind with nothing but this block, `spec` and what is above it.
    fn around(kind: &str, path: &str, lines: &str) -> String {
        let mut text = format!("apiVersion: cutover.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: any}}\n");
        let above: Vec<&str> = path.rsplit_once('.').map(|(above, _)| above.split('.').collect()).unwrap_or_default();
        let mut indent = String::new();
        for key in above {
            let _ = writeln!(text, "{indent}{key}:");
            indent.push_str("  ");
            if key == "services" {
                let _ = writeln!(text, "{indent}- name: storefront\n{indent}  port: 80");
                indent.push_str("  ");
            }
        }
        lines.lines().fold(text, |text, line| format!("{text}{indent}{line}\n"))
    }

    #[test]
    fn nothing_is_wrong_in_any_example() {
        for (kind, path, lines) in EXAMPLES {
            assert!((2..=7).contains(&lines.lines().count()), "{path}");
            let report = file(&around(kind, path, lines));
            let inside = report.problems.iter().filter(|found| {
                without_places(&found.problem.path).starts_with(path) && found.problem.found != "missing"
            });
            assert_eq!(inside.map(|found| found.problem.to_string()).collect::<Vec<_>>(), [""; 0], "{kind} {path}");
        }
    }
}
