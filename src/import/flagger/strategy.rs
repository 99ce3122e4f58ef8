//! How Flagger moves weight: step by step, at once, or by what requests carry.

use super::{Provider, canary::Context, matches::matches};
use crate::{
    api::{
        Duration, Progress, SessionAffinity, Strategy,
        strategy::{Ramp, Step},
    },
    import::{
        fields::{Fields, ListOf},
        remarks::Remarks,
        services::Reached,
    },
};

/// Checks of blue/green without a mesh, where nothing is said.
const ITERATIONS: u32 = 10;
const RAMP: &str = "spec.strategy.ramp";
const STEPS: &str = "spec.strategy.steps";
const OF_CONNECTIONS: &str = "with appProtocol tcp connections are divided, which can be neither copied nor kept";

/// Reads the strategy; none where Flagger would never advance, or in a way that has no counterpart.
pub(super) fn strategy(
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    bake: Duration,
    remarks: &mut Remarks,
) -> Option<Strategy> {
    let session_affinity = session_affinity(fields, context, remarks);
    let ramp = ramp(fields, context, remarks);
    let mut strategy = Strategy { session_affinity, bake, ..Strategy::default() };
    let ramp = ramp?;
    // An external name must not change under traffic.
    let of_names = !ramp.matches.is_empty() && context.target.reached == Reached::ByName;
    if of_names {
        strategy.steps = steps(&ramp);
        said_of_steps(&ramp, remarks);
    } else {
        said_of_ramp(&ramp, context.provider, remarks);
        strategy.ramp = Some(ramp);
    }
    Some(strategy)
}

fn ramp(fields: &mut Fields<'_>, context: &Context<'_, '_>, remarks: &mut Remarks) -> Option<Ramp> {
    let refused = remarks.refusals.len();
    let mut number =
        |key: &str| fields.take::<i64>(key, remarks).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    let (step_weight, most) = (number("stepWeight"), number("maxWeight"));
    let (iterations, back, part) = (number("iterations"), number("stepWeightPromotion"), number("mirrorWeight"));
    let weights = fields.take::<ListOf<i64>>("stepWeights", remarks).map(|ListOf(weights)| weights).unwrap_or_default();
    let mirror = mirror(fields, context, iterations, remarks);
    let tests = matches(fields, context, remarks);
    if remarks.refusals.len() > refused {
        return None;
    }
    let step_weight_promotion = back.filter(|share| *share < 100);
    let common = Ramp {
        mirror,
        mirror_weight: mirror_weight(part, mirror, context, remarks),
        step_weight_promotion,
        ..Ramp::default()
    };
    if context.provider == Provider::Kubernetes {
        return Some(switched(iterations, step_weight.is_some() || !weights.is_empty(), &tests, remarks));
    }
    match (iterations, tests.is_empty()) {
        (Some(iterations), true) => Some(Ramp { iterations: Some(iterations), ..common }),
        (Some(iterations), false) => Some(Ramp { iterations: Some(iterations), matches: tests, ..Ramp::default() }),
        (None, false) => {
            let found = "given without iterations: Flagger then weights only the requests that match";
            fields.refuse("match", found, "write iterations for an A/B test, or leave match out", remarks);
            None
        }
        (None, true) => by_weight(fields, step_weight, most, &weights, common, remarks),
    }
}

fn by_weight(
    fields: &Fields<'_>,
    step_weight: Option<u32>,
    most: Option<u32>,
    weights: &[i64],
    common: Ramp,
    remarks: &mut Remarks,
) -> Option<Ramp> {
    if let Some(step) = step_weight {
        if !weights.is_empty() {
            remarks.lose(fields.at("stepWeights"), "Flagger takes stepWeight where both are given");
        }
        if most.is_some_and(|most| most > 100) {
            remarks.note(
                RAMP,
                "A maxWeight of more than 100 is never reached in Flagger, which then never promotes; here it is 100.",
            );
        }
        let max_weight = most.map(|most| most.min(100)).filter(|most| *most < 100);
        return Some(Ramp { step_weight: Some(step.min(100)), max_weight, ..common });
    }
    if weights.is_empty() {
        let found = "none of stepWeight, stepWeights and iterations is given, so Flagger never advances";
        remarks.refusals.push(fields.of().refusal(fields.path(), found, "write one of them"));
        return None;
    }
    let rising =
        weights.windows(2).all(|pair| pair.first() < pair.last()) && weights.first().is_some_and(|first| *first > 0);
    if !rising {
        let found = "the weights do not rise, where Flagger stops without a word";
        fields.refuse("stepWeights", found, "let each be more than the one before it", remarks);
        return None;
    }
    if most.is_some() {
        remarks.lose(fields.at("maxWeight"), "with stepWeights Flagger goes to the last of them");
    }
    let mut step_weights = Vec::new();
    for weight in weights.iter().map(|weight| u32::try_from(*weight).unwrap_or(100).min(100)) {
        step_weights.extend((step_weights.last() != Some(&weight)).then_some(weight));
    }
    Some(Ramp { step_weights, ..common })
}

/// Without a mesh all traffic is switched, whatever the Canary says of weights.
fn switched(iterations: Option<u32>, weights: bool, tests: &[crate::api::RequestMatch], remarks: &mut Remarks) -> Ramp {
    if weights || !tests.is_empty() {
        remarks.lose(
            "spec.analysis.stepWeight, stepWeights, match",
            "Flagger's provider kubernetes switches all traffic at once",
        );
    }
    if iterations.is_none() {
        remarks.note(RAMP, format!("Flagger takes {ITERATIONS} iterations where none are given."));
    }
    Ramp { iterations: Some(iterations.unwrap_or(ITERATIONS)), ..Ramp::default() }
}

fn mirror(fields: &mut Fields<'_>, context: &Context<'_, '_>, iterations: Option<u32>, remarks: &mut Remarks) -> bool {
    let given = fields.take("mirror", remarks).unwrap_or(false);
    if context.divides_connections() {
        if given {
            remarks.lose(fields.at("mirror"), OF_CONNECTIONS);
        }
        return false;
    }
    match context.provider {
        Provider::GatewayApi | Provider::Contour | Provider::Istio => {
            let never =
                context.provider != Provider::Istio && (context.provider == Provider::Contour || iterations.is_none());
            if given && never {
                remarks.note(RAMP, "Flagger's router does not mirror here, and never advances; this one does.");
            }
            given
        }
        _ => {
            if given {
                let why =
                    format!("a route of {} cannot mirror; in Flagger the run never advances", context.provider.name());
                remarks.lose(fields.at("mirror"), why);
            }
            false
        }
    }
}

/// Only a part of all requests, where the route can copy a part.
fn mirror_weight(part: Option<u32>, mirror: bool, context: &Context<'_, '_>, remarks: &mut Remarks) -> Option<u32> {
    let part = part.filter(|part| *part < 100)?;
    if mirror && matches!(context.provider, Provider::Contour | Provider::Istio) {
        return Some(part);
    }
    remarks.lose("spec.analysis.mirrorWeight", "the route copies all requests or none, as Flagger does here");
    None
}

fn said_of_ramp(ramp: &Ramp, provider: Provider, remarks: &mut Remarks) {
    match (ramp.iterations, ramp.mirror, ramp.matches.is_empty()) {
        (Some(_), false, true) => {
            let copies = matches!(provider, Provider::GatewayApi | Provider::Contour | Provider::Istio);
            let copies = if copies { "; mirror: true checks copies before it" } else { "" };
            remarks.note(
                RAMP,
                format!(
                    "Flagger checks before the switch, on requests that its webhooks make, and once after it. Here all \
                     traffic is switched first, and the checks are about that{copies}."
                ),
            );
        }
        (Some(_), false, false) => {
            remarks.note(RAMP, "As in Flagger the primary changes under its traffic when the test has passed.");
        }
        (Some(_) | None, true, _) | (None, false, _) => {}
    }
    let ends_below = ramp.steps().last().is_some_and(|step| step.progress != Some(Progress::ALL));
    if ramp.step_weight_promotion.is_some() && ends_below {
        remarks.note(RAMP, "The way to the promoted primary begins with all traffic on the canary: nothing goes to a Service that changes.");
    }
}

fn said_of_steps(ramp: &Ramp, remarks: &mut Remarks) {
    if !ramp.matches.is_empty() {
        remarks.note(
            STEPS,
            "After the test all traffic goes to the canary, and then the primary changes: real data planes refuse requests \
             while an external name changes under them.",
        );
    }
}

/// A ramp as steps, the last of which is all traffic.
fn steps(ramp: &Ramp) -> Vec<Step> {
    let mut steps = ramp.steps();
    if steps.last().and_then(|step| step.progress) != Some(Progress::ALL) {
        steps.push(Step { progress: Some(Progress::ALL), ..Step::default() });
    }
    steps
}

fn session_affinity(
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    remarks: &mut Remarks,
) -> Option<SessionAffinity> {
    let session = fields.block("sessionAffinity", remarks, |fields, remarks| {
        let cookie_name = fields.take::<String>("cookieName", remarks)?;
        let max_age = fields.take::<i64>("maxAge", remarks).and_then(|age| u64::try_from(age).ok()).unwrap_or(86_400);
        let why = "users of the primary are kept as well, by the same cookie";
        fields.lose(&["primaryCookieName"], why, remarks);
        let why = "the cookie has Path=/, HttpOnly and SameSite=Lax";
        fields.lose(&["domain", "httpOnly", "partitioned", "path", "sameSite", "secure"], why, remarks);
        Some(SessionAffinity { cookie_name, max_age: Duration::from_secs(max_age) })
    })??;
    if context.divides_connections() {
        remarks.lose(fields.at("sessionAffinity"), OF_CONNECTIONS);
        return None;
    }
    if matches!(context.provider, Provider::GatewayApi | Provider::Istio) {
        return Some(session);
    }
    let why = format!("Flagger's provider {} does not use it", context.provider.name());
    remarks.lose(fields.at("sessionAffinity"), why);
    None
}
