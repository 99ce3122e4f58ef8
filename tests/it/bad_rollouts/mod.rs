//! One mistake at a time in a rollout, and the words for it, written by hand.

mod analysis;
mod fields;
mod foreign;
mod hooks;
mod members;
mod service_mode;
mod services;
mod steps;
mod windows;

/// A rollout that is right; each case changes one thing in it.
pub(crate) const RIGHT: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: FleetRollout
metadata: {name: shop, namespace: shop}
spec:
  services:
    - name: storefront
      port: 80
      backend: {externalName: {}}
      routes:
        - gatewayAPI: {name: public}
  members:
    - {name: eu-1, weight: 0, initialWeight: 100}
    - {name: eu-3, weight: 100}
  strategy:
    steps:
      - {progress: 10%}
      - {progress: 50%}
      - {progress: 100%}
  analysis:
    metrics:
      - name: errors
        ratio:
          numerator: 'sum(increase(http_requests_total{service=\"{{ service }}\",code=~\"5..\"}[{{ window }}]))'
          denominator: 'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'
        max: 1
";

/// What is changed, to what, and every problem that is then named, with its line.
pub(crate) type Case = (&'static str, &'static str, &'static [&'static str]);

pub(crate) fn cases() -> impl Iterator<Item = &'static Case> {
    [
        windows::CASES,
        service_mode::CASES,
        steps::CASES,
        members::CASES,
        fields::CASES,
        foreign::CASES,
        hooks::CASES,
        services::CASES,
        analysis::CASES,
    ]
    .into_iter()
    .flatten()
}
