//! The table of lab tests.

use crate::runner::Test;

mod adoption;
mod alerts;
mod apex_ingress;
mod api;
mod builtin_metrics;
mod conformance;
mod contour;
mod cost;
mod crashes;
mod credentials;
mod demo;
mod doctor;
mod documents;
mod edits;
mod hand_made;
mod harness;
mod hooks;
mod import;
mod inputs;
pub mod istio;
mod lockstep;
mod made;
mod mirror;
mod monitoring;
mod overload;
mod people;
mod plans;
mod promotion;
mod requests_that_match;
pub mod rights;
mod routes;
mod service_mode;
mod services;
mod session_affinity;
mod skipper;
mod skipper_matches;
mod taken_over;
mod targets;
mod tenants;
mod tokens;
mod tracking;
mod tutorial;
mod upgrade;
mod verdicts;

pub fn all() -> Vec<Test> {
    [
        skipper::TESTS,
        skipper_matches::TESTS,
        contour::TESTS,
        harness::TESTS,
        hooks::TESTS,
        promotion::TESTS,
        lockstep::TESTS,
        adoption::TESTS,
        alerts::TESTS,
        import::TESTS,
        edits::TESTS,
        verdicts::TESTS,
        targets::TESTS,
        tenants::TESTS,
        routes::TESTS,
        service_mode::TESTS,
        taken_over::TESTS,
        apex_ingress::TESTS,
        services::TESTS,
        made::TESTS,
        session_affinity::TESTS,
        mirror::TESTS,
        requests_that_match::TESTS,
        people::TESTS,
        doctor::TESTS,
        credentials::TESTS,
        overload::TESTS,
        tokens::TESTS,
        tracking::TESTS,
        builtin_metrics::TESTS,
        monitoring::TESTS,
        upgrade::TESTS,
        inputs::TESTS,
        crashes::TESTS,
        cost::TESTS,
        demo::TESTS,
        documents::TESTS,
        tutorial::TESTS,
        api::TESTS,
        conformance::TESTS,
        plans::TESTS,
        &istio::all(),
    ]
    .concat()
}
