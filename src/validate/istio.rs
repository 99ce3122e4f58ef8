//! A VirtualService that the hub makes: what contradicts itself, and what istiod would refuse.

use super::problem::{Problem, quoted};
use crate::api::istio::{CreateIstio, IstioProtocol};

/// Everything but what headers, times and origins say by themselves.
pub(super) fn made(path: &str, create: &CreateIstio) -> Vec<Problem> {
    [clients(path, create), connections(path, create), seconds(path, create), bounds(path, create)]
        .into_iter()
        .flatten()
        .chain(twice(path, create))
        .collect()
}

fn clients(path: &str, create: &CreateIstio) -> Option<Problem> {
    if !create.delegate {
        let remedy = "write hosts; or delegate: true, for a VirtualService to which another one delegates";
        return create.hosts.is_empty().then(|| Problem::error(path, "has no hosts", remedy));
    }
    let beside = [
        ("hosts", !create.hosts.is_empty()),
        ("gateways", !create.gateways.is_empty()),
        ("protocol", create.protocol != IstioProtocol::Http),
    ];
    let (field, _) = beside.into_iter().find(|(_, given)| *given)?;
    let found = "is given for a delegate, which has what the VirtualService has that delegates to it";
    Some(Problem::error(format!("{path}.{field}"), found, "leave it out"))
}

fn connections(path: &str, create: &CreateIstio) -> Option<Problem> {
    let settings = [
        ("timeouts", create.timeouts.is_some()),
        ("retries", create.retries.is_some()),
        ("headers", create.headers.is_some()),
        ("cors", create.cors.is_some()),
    ];
    let (field, _) = settings.into_iter().find(|(_, given)| *given)?;
    let found = "is about requests, and this protocol has connections";
    (create.protocol != IstioProtocol::Http)
        .then(|| Problem::error(format!("{path}.{field}"), found, "leave it out, or use protocol: HTTP"))
}

fn seconds(path: &str, create: &CreateIstio) -> Option<Problem> {
    let age = create.cors.as_ref()?.max_age.filter(|age| !age.as_millis().is_multiple_of(1000))?;
    let found = format!("{age} is not a whole number of seconds");
    Some(Problem::error(format!("{path}.cors.maxAge"), found, "istiod takes whole seconds only"))
}

fn bounds(path: &str, create: &CreateIstio) -> Option<Problem> {
    create.timeouts?.backend_request.filter(|_| create.retries.is_none())?;
    let found = "a VirtualService bounds an attempt only where it retries";
    Some(Problem::error(format!("{path}.timeouts.backendRequest"), found, "write request, or retries too"))
}

/// istiod refuses a host that another one covers.
fn twice(path: &str, create: &CreateIstio) -> Option<Problem> {
    let covers = |one: &str, other: &str| {
        let below = one.strip_prefix('*').is_some_and(|rest| other.trim_start_matches('*').ends_with(rest));
        one == other || below
    };
    let hosts = || create.hosts.iter().enumerate();
    let pair = hosts().find_map(|(i, one)| Some((one, hosts().find(|(j, other)| i != *j && covers(one, other))?.1)));
    let (one, other) = pair?;
    let found = format!("{} covers {}", quoted(one), quoted(other));
    Some(Problem::error(format!("{path}.hosts"), found, "name each host once"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(create: Value) -> Vec<String> {
        let problems = made("create", &serde_json::from_value(create).unwrap());
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_the_field() {
        let hosts = json!(["a.example.com"]);
        for (create, expected) in [
            (
                json!({"hosts": hosts, "gateways": ["istio-system/public"], "cors": {"allowOrigins": ["*"], "allowMethods": ["GET"], "maxAge": "10m"}}),
                "",
            ),
            (json!({"delegate": true, "timeouts": {"request": "10s"}}), ""),
            (json!({"hosts": ["*.example.com", "a.example.org"]}), ""),
            (json!({}), "create: has no hosts"),
            (json!({"delegate": true, "hosts": hosts}), "create.hosts: is given for a delegate"),
            (json!({"delegate": true, "gateways": ["mesh"]}), "create.gateways: is given for a delegate"),
            (json!({"delegate": true, "protocol": "TLS"}), "create.protocol: is given for a delegate"),
            (
                json!({"hosts": hosts, "protocol": "TCP", "retries": {"attempts": 1}}),
                "create.retries: is about requests",
            ),
            (
                json!({"hosts": hosts, "timeouts": {"backendRequest": "1s"}}),
                "create.timeouts.backendRequest: a VirtualService bounds",
            ),
            (
                json!({"hosts": hosts, "cors": {"allowOrigins": ["*"], "allowMethods": ["GET"], "maxAge": "1500ms"}}),
                "create.cors.maxAge: 1s500ms is not a whole number of seconds",
            ),
            (
                json!({"hosts": ["a.example.com", "a.example.com"]}),
                "create.hosts: \"a.example.com\" covers \"a.example.com\"",
            ),
            (
                json!({"hosts": ["a.example.com", "*.example.com"]}),
                "create.hosts: \"*.example.com\" covers \"a.example.com\"",
            ),
        ] {
            let said = said(create.clone());
            let is_as_expected =
                if expected.is_empty() { said.is_empty() } else { said.len() == 1 && said[0].starts_with(expected) };
            assert!(is_as_expected, "{create}: {said:?}");
        }
    }
}
