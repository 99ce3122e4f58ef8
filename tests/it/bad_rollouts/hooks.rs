//! Hooks.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "  analysis:\n",
        "  hooks: [{name: smoke, type: PreRollout, url: 'https://t.example.com/smoke'}]\n  analysis:\n",
        &[],
    ),
    (
        "  analysis:\n",
        "  hooks: [{name: smoke, type: PreRollout, url: 'https://t.example.com/smoke', timeout: 6m}]\n  analysis:\n",
        &["19: spec.hooks[0].timeout: 6m is not allowed; write a time from 100ms to 5m"],
    ),
    (
        "  analysis:\n",
        "  hooks: [{name: smoke, type: PreRollout, url: 'http://t.example.com/', caBundle: none}]\n  analysis:\n",
        &[
            "19: spec.hooks[0].caBundle: \"none\" is no certificate; write certificates in PEM, from -----BEGIN CERTIFICATE----- on",
            "19: spec.hooks[0].caBundle: is not used, because the url is http; write an https URL, or leave it out",
        ],
    ),
    (
        "  analysis:\n",
        "  hooks: [{name: smoke, type: Lunch, url: 'http://t.example.com/'}]\n  analysis:\n",
        &[
            "19: spec.hooks[0].type: \"Lunch\" is not allowed; write one of ConfirmRollout, Skip, PreRollout, Rollout, ConfirmTrafficIncrease, ConfirmPromotion, PostRollout, Rollback, Event",
        ],
    ),
    (
        "  analysis:\n",
        "  hooks: [{name: smoke, type: Event, url: 'file:///etc/passwd'}]\n  analysis:\n",
        &[
            "19: spec.hooks[0].url: \"file:///etc/passwd\" is not allowed; write an http or https URL without user, query and fragment",
        ],
    ),
    (
        "  analysis:\n",
        "  hooks: [{name: urgent, type: Skip, url: 'https://t.example.com/urgent'}]\n  analysis:\n",
        &[
            "19: spec.hooks[0].type: belongs to service mode, a rollout without members; leave it out, or leave spec.members out",
        ],
    ),
];
