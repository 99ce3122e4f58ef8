//! Analysis.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'",
        "'sum(increase(http_requests_total{service=~\"{{ services }}\"}[{{ window }}]))'",
        &[
            "24: spec.analysis.metrics[0].ratio.denominator: is for all {{ services }} and drops the label service, so no value is known to be whose; aggregate with sum by (service) (…), or select {{ service }}",
        ],
    ),
    (
        "'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'",
        "'sum by (service) (increase(http_requests_total{service=~\"{{ services }}\"}[{{ window }}]))'",
        &[],
    ),
    (
        "'sum(increase(http_requests_total{service=\"{{ service }}\"}[{{ window }}]))'",
        "'sum(increase(http_requests_total{service=\"{{ backend }}\"}[{{ window }}]))'",
        &[],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    interval: 5s\n",
        &[
            "20: warning: spec.analysis.interval: 5s is shorter than most scrape intervals; a check may see the same samples again; 10s or more is usual",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    interval: 2h\n",
        &[
            "14: warning: spec.strategy.bake: 5m is shorter than the 2h window of metric \"errors\"; each bake lasts 2h anyway, so that older samples do not count; write 2h",
            "20: spec.analysis.interval: 2h is not allowed; write a time from 1s to 1h",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    interval: -5m\n",
        &["20: spec.analysis.interval: \"-5m\" is not allowed; write a time in whole h, m, s or ms, such as 1h30m"],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    bake: 10s\n",
        &[
            "15: warning: spec.strategy.bake: 10s is shorter than the 1m window of metric \"errors\"; each bake lasts 1m anyway, so that older samples do not count; write 1m",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    progressDeadline: 10m\n",
        &[
            "15: spec.strategy.progressDeadline: 10m is less than 16m30s, the time that settle and bake of all steps take; write more than 16m30s, or leave it out",
        ],
    ),
    (
        "  analysis:\n",
        "  analysis:\n    failures: {limit: 5, within: 3}\n",
        &[
            "20: spec.analysis.failures.limit: 5 failures among the last 3 checks cannot happen; at most 3, or a larger within",
        ],
    ),
    (
        "        max: 1\n",
        "",
        &["21: spec.analysis.metrics[0]: has no limit, so it would never fail; give max, min or perMember"],
    ),
    (
        "        max: 1\n",
        "        min: 5\n        max: 1\n",
        &["25: spec.analysis.metrics[0].min: 5 is more than max (1); min is at most max"],
    ),
    (
        "        max: 1\n",
        "        max: 1e400\n",
        &["25: spec.analysis.metrics[0].max: is not a finite number; write a plain number"],
    ),
    (
        "        max: 1\n",
        "        max: 1000\n",
        &["25: spec.analysis.metrics[0].max: 1000 is not a percentage; a ratio is in percent, from 0 to 100"],
    ),
    (
        "        max: 1\n",
        "        max: 1\n        guard: {max: 0.5}\n",
        &[
            "26: warning: spec.analysis.metrics[0].guard.max: 0.5 is stricter than the metric's own max (1); one check beyond a guard rolls back; make the guard the wider limit",
        ],
    ),
    (
        "        max: 1\n",
        "        max: 1\n        query: up\n",
        &[
            "21: spec.analysis.metrics[0]: ratio and query are both given; give exactly one of ratio, histogram, query, templateRef, builtin",
        ],
    ),
    (
        "denominator: 'sum(increase(http_requests_total",
        "denominator: 'sum(increase(requests_total",
        &[
            "23: warning: spec.analysis.metrics[0].ratio.numerator: counts \"http_requests_total\", but the denominator counts \"requests_total\"; numerator and denominator should select the same series",
        ],
    ),
    (
        "code=~\"5..\"}[{{ window }}]",
        "code=~\"5..\"}[{{ windw }}]",
        &["23: spec.analysis.metrics[0].ratio.numerator: variable \"windw\" is not known; did you mean {{ window }}?"],
    ),
    (
        "code=~\"5..\"}[{{ window }}]",
        "code=~\"5..\"}[5m]",
        &[
            "23: warning: spec.analysis.metrics[0].ratio.numerator: covers a fixed time, so samples of earlier weights may be included; use [{{ window }}]",
        ],
    ),
];
