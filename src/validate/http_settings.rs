//! What a route that the hub makes does with requests and answers: what contradicts itself, and what its kind cannot do.

use super::{istio, problem::Problem};
use crate::api::{
    Duration, FleetRolloutSpec, Route,
    http_settings::{Cors, HeaderChange, Headers, Timeouts},
    service::CreateContour,
};

/// Every made route of the rollout.
pub(super) fn settings(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let services = spec.services.iter().enumerate();
    let routes =
        services.flat_map(|(i, service)| service.routes.iter().enumerate().map(move |(j, route)| (i, j, route)));
    routes.flat_map(|(i, j, route)| of_route(&format!("spec.services[{i}].routes[{j}]"), route)).collect()
}

fn of_route(path: &str, route: &Route) -> Vec<Problem> {
    match route {
        Route::GatewayApi(route) => route.create.as_ref().map_or_else(Vec::new, |create| {
            let path = format!("{path}.gatewayAPI.create");
            of_all(&path, create.timeouts.as_ref(), create.headers.as_ref(), create.cors.as_ref())
        }),
        Route::Contour(route) => route.create.as_ref().map_or_else(Vec::new, |create| {
            let path = format!("{path}.contour.create");
            let all = of_all(&path, create.timeouts.as_ref(), create.headers.as_ref(), create.cors.as_ref());
            all.into_iter().chain(of_contour(&path, create)).collect()
        }),
        Route::Istio(route) => route.create.as_ref().map_or_else(Vec::new, |create| {
            let path = format!("{path}.istio.create");
            let all = of_all(&path, create.timeouts.as_ref(), create.headers.as_ref(), create.cors.as_ref());
            all.into_iter().chain(istio::made(&path, create)).collect()
        }),
        Route::Skipper(_) | Route::Nginx(_) | Route::AliyunAlb(_) | Route::Kubernetes(_) => Vec::new(),
    }
}

fn of_all(path: &str, timeouts: Option<&Timeouts>, headers: Option<&Headers>, cors: Option<&Cors>) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(timeouts.into_iter().flat_map(|timeouts| times(&format!("{path}.timeouts"), timeouts)));
    for (of, change) in
        headers.into_iter().flat_map(|headers| [("request", &headers.request), ("response", &headers.response)])
    {
        problems.extend(change.iter().flat_map(|change| changes(&format!("{path}.headers.{of}"), change)));
    }
    if headers.is_some_and(|headers| headers.request.is_none() && headers.response.is_none()) {
        problems.push(Problem::error(format!("{path}.headers"), "changes nothing", "write request or response"));
    }
    problems.extend(cors.into_iter().flat_map(|cors| origins(&format!("{path}.cors"), cors)));
    problems
}

fn times(path: &str, timeouts: &Timeouts) -> Vec<Problem> {
    let given = [("request", timeouts.request), ("backendRequest", timeouts.backend_request)];
    let zero = given.into_iter().filter(|(_, time)| *time == Some(Duration::ZERO));
    let mut problems: Vec<Problem> = zero
        .map(|(name, _)| Problem::error(format!("{path}.{name}"), "is no time", "write 1ms or more, or leave it out"))
        .collect();
    match (timeouts.request, timeouts.backend_request) {
        (None, None) => problems.push(Problem::error(path, "bounds nothing", "write request or backendRequest")),
        (Some(all), Some(each)) if each > all => {
            let found = format!("{each} is more than request ({all}), so that it never ends an attempt");
            problems.push(Problem::error(format!("{path}.backendRequest"), found, format!("write at most {all}")));
        }
        (Some(_), _) | (_, Some(_)) => {}
    }
    problems
}

fn changes(path: &str, change: &HeaderChange) -> Vec<Problem> {
    let values = || [("set", &change.set), ("add", &change.add)].into_iter();
    let named = values().flat_map(|(key, values)| values.iter().map(move |value| (key, value.name.as_str())));
    let removed = change.remove.iter().map(|name| ("remove", name.as_str()));
    let host = named.chain(removed).filter(|(_, name)| name.eq_ignore_ascii_case("host"));
    let host = host.map(|(key, _)| {
        let remedy = "leave it out; hostHeader of a MemberCluster says which Host its members get";
        Problem::error(format!("{path}.{key}"), "names the header Host", remedy)
    });
    let is_empty = values().all(|(_, values)| values.is_empty()) && change.remove.is_empty();
    let empty = is_empty.then(|| Problem::error(path, "changes nothing", "write set, add or remove"));
    host.chain(empty).collect()
}

fn origins(path: &str, cors: &Cors) -> Vec<Problem> {
    let any = cors.allow_origins.len() > 1 && cors.allow_origins.iter().any(|origin| origin == "*");
    let any = any.then(|| {
        Problem::error(
            format!("{path}.allowOrigins"),
            "names * and others, but * is any",
            "write * alone, or leave it out",
        )
    });
    let short = cors.max_age.filter(|age| *age < Duration::from_secs(1));
    let short =
        short.map(|age| Problem::error(format!("{path}.maxAge"), format!("{age} is not allowed"), "write 1s or more"));
    any.into_iter().chain(short).collect()
}

/// An HTTPProxy bounds an attempt only where it retries, and adds no value beside another one.
fn of_contour(path: &str, create: &CreateContour) -> Vec<Problem> {
    let bounds = create.retries.is_none() && create.timeouts.is_some_and(|timeouts| timeouts.backend_request.is_some());
    let bounds = bounds.then(|| {
        let found = "an HTTPProxy bounds an attempt only where it retries";
        Problem::error(format!("{path}.timeouts.backendRequest"), found, "write request, or retries too")
    });
    let headers = create.headers.clone().unwrap_or_default();
    let adds = [("request", headers.request), ("response", headers.response)].into_iter();
    let adds = adds.filter(|(_, change)| change.as_ref().is_some_and(|change| !change.add.is_empty()));
    let adds = adds.map(|(of, _)| {
        let found = "an HTTPProxy adds no value beside those that a header has";
        Problem::error(format!("{path}.headers.{of}.add"), found, "write set, or use gatewayAPI")
    });
    bounds.into_iter().chain(adds).collect()
}
