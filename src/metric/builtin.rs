//! The metrics that every ingress has, as queries. Failures are 5xx answers alone; durations are in seconds.

use crate::api::analysis::{Builtin, BuiltinType, Histogram, Ingress, Ratio};

const P99: f64 = 0.99;

/// What a built-in metric comes to.
pub(super) enum Queries {
    Share(Ratio),
    Quantile(Histogram),
}

/// The queries of a built-in metric.
pub(super) fn queries(builtin: &Builtin) -> Queries {
    let counted = counted(builtin.ingress);
    match builtin.type_ {
        BuiltinType::RequestSuccessRate => Queries::Share(Ratio {
            numerator: counted.sum("sum", counted.requests, &format!(r#",{}!~"5..""#, counted.status)),
            denominator: counted.sum("sum", counted.requests, ""),
        }),
        BuiltinType::RequestDuration => Queries::Quantile(Histogram {
            buckets: counted.sum("sum by (le)", counted.durations, ""),
            quantile: builtin.quantile.unwrap_or(P99),
            milliseconds: counted.milliseconds,
        }),
    }
}

/// How an ingress counts the requests of a service.
struct Counted {
    /// The counter of requests.
    requests: &'static str,
    /// The buckets of their durations.
    durations: &'static str,
    /// The bounds of the buckets are milliseconds.
    milliseconds: bool,
    /// The label with the status of the answer.
    status: &'static str,
    /// What selects the service; the first that gives anything counts.
    selectors: &'static [&'static str],
}

const fn counted(ingress: Ingress) -> Counted {
    match ingress {
        Ingress::Skipper => Counted {
            requests: "skipper_serve_route_duration_seconds_count",
            durations: "skipper_serve_route_duration_seconds_bucket",
            milliseconds: false,
            status: "code",
            selectors: &[concat!(
                r#"route=~"kube(ew)?_{{ namespace.word }}__.*__{{ service.word }}(_[0-9]+)?"#,
                r#"|kube_rg__{{ namespace.word }}__{{ service.word }}__.*""#
            )],
        },
        Ingress::Contour => Counted {
            requests: "envoy_cluster_upstream_rq",
            durations: "envoy_cluster_upstream_rq_time_bucket",
            milliseconds: true,
            status: "envoy_response_code",
            selectors: &[r#"envoy_cluster_name=~"{{ namespace }}_{{ service }}_[0-9a-zA-Z-]+""#],
        },
        Ingress::IngressNginx => Counted {
            requests: "nginx_ingress_controller_requests",
            durations: "nginx_ingress_controller_request_duration_seconds_bucket",
            milliseconds: false,
            status: "status",
            // Without honorLabels Prometheus keeps `namespace` and `service` for the controller's own.
            selectors: &[
                r#"exported_namespace="{{ namespace }}",exported_service="{{ service }}""#,
                r#"namespace="{{ namespace }}",service="{{ service }}""#,
            ],
        },
        Ingress::Istio => Counted {
            requests: "istio_requests_total",
            durations: "istio_request_duration_milliseconds_bucket",
            milliseconds: true,
            status: "response_code",
            selectors: &[concat!(
                r#"reporter="destination",destination_service_namespace="{{ namespace }}","#,
                r#"destination_service_name="{{ service }}""#
            )],
        },
    }
}

impl Counted {
    fn sum(&self, sum: &str, series: &str, more: &str) -> String {
        let one = |selector: &&str| format!("{sum} (increase({series}{{{selector}{more}}}[{{{{ window }}}}]))");
        self.selectors.iter().map(one).collect::<Vec<_>>().join(" or ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::Duration,
        metric::template::{Variables, render},
    };

    fn rendered(type_: BuiltinType, ingress: Ingress) -> Vec<String> {
        let variables = Variables {
            service: "check-out",
            services: "",
            namespace: "shop",
            member: "eu-3",
            backend: "",
            window: Duration::from_secs(60),
        };
        let queries = match queries(&Builtin { type_, ingress, quantile: None }) {
            Queries::Share(ratio) => vec![ratio.numerator, ratio.denominator],
            Queries::Quantile(histogram) => vec![histogram.buckets],
        };
        queries.iter().map(|query| render(query, &variables).unwrap()).collect()
    }

    #[test]
    fn the_page_says_what_each_ingress_counts_and_how_that_was_checked() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md")).unwrap();
        for ingress in [Ingress::Skipper, Ingress::Contour, Ingress::IngressNginx, Ingress::Istio] {
            let counted = counted(ingress);
            let unit = if counted.milliseconds { "milliseconds" } else { "seconds" };
            let checked = match ingress {
                Ingress::Skipper | Ingress::Contour => "measured",
                Ingress::IngressNginx | Ingress::Istio => "documented",
            };
            let row = format!(
                "| `{ingress:?}` | `{}` | `{}` | {unit} | `{}` | {checked} |",
                counted.requests, counted.durations, counted.status
            );
            assert!(page.contains(&row), "docs/metrics.md lacks this row:\n{row}");
        }
    }

    #[test]
    fn every_query_is_promql_for_one_service() {
        for ingress in [Ingress::Skipper, Ingress::Contour, Ingress::IngressNginx, Ingress::Istio] {
            for type_ in [BuiltinType::RequestSuccessRate, BuiltinType::RequestDuration] {
                for query in rendered(type_, ingress) {
                    promql_parser::parser::parse(&query).unwrap_or_else(|why| panic!("{query}: {why}"));
                    assert!(query.contains("check-out") || query.contains("check_out"), "{query}");
                }
            }
        }
    }

    #[test]
    fn skippers_routes_are_named_with_underscores() {
        assert_eq!(
            rendered(BuiltinType::RequestSuccessRate, Ingress::Skipper)[0],
            r#"sum (increase(skipper_serve_route_duration_seconds_count{route=~"kube(ew)?_shop__.*__check_out(_[0-9]+)?|kube_rg__shop__check_out__.*",code!~"5.."}[1m]))"#
        );
        let selector =
            regex::Regex::new("^(kube(ew)?_shop__.*__check_out(_[0-9]+)?|kube_rg__shop__check_out__.*)$").unwrap();
        for route in ["kube_shop__public__shop_example_com____check_out", "kube_rg__shop__check_out__all__0_0"] {
            assert!(selector.is_match(route), "{route}");
        }
        assert!(!selector.is_match("kube_shop__public__shop_example_com____check_out_canary"));
    }

    #[test]
    fn a_success_rate_counts_what_is_no_5xx_among_all_requests() {
        let nginx = r#"exported_namespace="shop",exported_service="check-out""#;
        let own = r#"namespace="shop",service="check-out""#;
        let istio =
            r#"reporter="destination",destination_service_namespace="shop",destination_service_name="check-out""#;
        for (ingress, good, all) in [
            (
                Ingress::Contour,
                r#"sum (increase(envoy_cluster_upstream_rq{envoy_cluster_name=~"shop_check-out_[0-9a-zA-Z-]+",envoy_response_code!~"5.."}[1m]))"#.to_owned(),
                r#"sum (increase(envoy_cluster_upstream_rq{envoy_cluster_name=~"shop_check-out_[0-9a-zA-Z-]+"}[1m]))"#.to_owned(),
            ),
            (
                Ingress::IngressNginx,
                format!(r#"sum (increase(nginx_ingress_controller_requests{{{nginx},status!~"5.."}}[1m])) or sum (increase(nginx_ingress_controller_requests{{{own},status!~"5.."}}[1m]))"#),
                format!("sum (increase(nginx_ingress_controller_requests{{{nginx}}}[1m])) or sum (increase(nginx_ingress_controller_requests{{{own}}}[1m]))"),
            ),
            (
                Ingress::Istio,
                format!(r#"sum (increase(istio_requests_total{{{istio},response_code!~"5.."}}[1m]))"#),
                format!("sum (increase(istio_requests_total{{{istio}}}[1m]))"),
            ),
        ] {
            assert_eq!(rendered(BuiltinType::RequestSuccessRate, ingress), [good, all]);
        }
    }

    #[test]
    fn durations_are_added_by_bound_and_known_to_be_seconds_or_milliseconds() {
        for (ingress, counter, milliseconds) in [
            (Ingress::Skipper, "skipper_serve_route_duration_seconds_bucket", false),
            (Ingress::Contour, "envoy_cluster_upstream_rq_time_bucket", true),
            (Ingress::IngressNginx, "nginx_ingress_controller_request_duration_seconds_bucket", false),
            (Ingress::Istio, "istio_request_duration_milliseconds_bucket", true),
        ] {
            let query = &rendered(BuiltinType::RequestDuration, ingress)[0];
            let begins = format!("sum by (le) (increase({counter}{{");
            assert!(query.split(" or ").all(|sum| sum.starts_with(&begins) && sum.ends_with("}[1m]))")), "{query}");
            assert!(!query.contains("5.."), "all requests: {query}");
            for (quantile, expected) in [(None, 0.99), (Some(0.5), 0.5)] {
                let builtin = Builtin { type_: BuiltinType::RequestDuration, ingress, quantile };
                let Queries::Quantile(histogram) = queries(&builtin) else { panic!("{ingress:?}") };
                assert_eq!((histogram.quantile, histogram.milliseconds), (expected, milliseconds), "{ingress:?}");
            }
        }
    }
}
