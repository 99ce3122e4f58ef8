//! docs/reference.md has every field of every kind, made of the definitions that are installed.

use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
};

use cutover::api::crd::{definitions, schema};
use serde_json::{Value, json};

use crate::command::root;

const HEAD: &str = "\
# Reference

<!-- Made by `UPDATE=1 cargo test --test it reference_page` of the definitions in config/crd and the files in examples. -->

Every field of every kind: its type, its default, what it may be, and an example. `kubectl explain fleetrollout.spec` says the
same in a terminal, and `cutover validate` names the line of whatever does not fit. A field in **bold** is required where the
object that holds it is given. Times are whole h, m, s or ms, such as `1h30m`.
";

/// Examples of fields that no file in examples/ has.
fn rare() -> Value {
    let cookie = json!({"name": "beta", "exact": "on", "prefix": "o", "regex": "on|yes"});
    let query = json!({"name": "preview", "exact": "1", "prefix": "v", "regex": "[0-9]+"});
    let header = json!({"name": "x-test", "exact": "a", "prefix": "eu", "regex": "eu-[0-9]+"});
    let matching = json!({"headers": [header], "cookies": [cookie], "query": [query]});
    let headers = json!({"set": [{"name": "x-shop", "value": "storefront"}], "add": [{"name": "x-hub", "value": "eu"}], "remove": ["server"]});
    let made = json!({
        "timeouts": {"request": "10s", "backendRequest": "3s"}, "headers": {"request": headers, "response": headers},
        "cors": {"allowOrigins": ["https://shop.example.com"], "allowMethods": ["GET", "POST"], "allowHeaders": ["authorization"],
                 "exposeHeaders": ["x-shop"], "allowCredentials": true, "maxAge": "10m"},
    });
    let mut made_with_retries = made.clone();
    made_with_retries["retries"] = json!({"attempts": 3, "codes": [502, 503]});
    let mut virtual_service = made_with_retries.clone();
    json_patch::merge(
        &mut virtual_service,
        &json!({
            "hosts": ["shop.example.com"], "gateways": ["istio-system/public", "mesh"], "protocol": "HTTP", "delegate": false,
        }),
    );
    let secret = |name: &str, key: &str| json!({"name": name, "key": key});
    json!({
        "FleetRollout": {"spec": {
            "paused": true, "suspend": true, "skipAnalysis": true, "deletionPolicy": "Revert",
            "services": [
                {"backend": {"clusterIP": {"existing": {"eu-1": "storefront-eu-1"}}}, "routes": [{"skipper": {"name": "storefront"}}],
                 "track": {"primaryCopies": true}},
                {"backend": {"serviceEntry": {"resolution": "Static"}}},
                {"backend": {"subset": {"existing": {"eu-1": "frankfurt"}, "host": "storefront.shop.svc.cluster.local", "label": "site",
                                        "values": {"eu-3": "dublin"}}}},
                {"backend": {"endpointSlice": {"existing": {"eu-1": "storefront-eu-1"}}}, "routes": [
                    {"kubernetes": {"create": {"name": "storefront-live"}}},
                    {"gatewayAPI": {"create": made}},
                    {"contour": {"create": made_with_retries}},
                    {"istio": {"create": virtual_service}},
                ]},
            ],
            "strategy": {
                "ramp": {"iterations": 5, "matches": [matching], "mirror": true, "mirrorWeight": 20, "stepWeightPromotion": 20, "stepWeights": [1, 5, 25]},
                "steps": [{"matches": [{"cookies": [cookie], "query": [query],
                                        "headers": [{"prefix": "eu", "regex": "eu-[0-9]+"}]}]}],
            },
            "analysis": {"lag": "30s", "metrics": [
                {"guard": {"minSamples": 50}, "histogram": {"milliseconds": true}, "perMember": {"min": 99}}]},
        }},
        "MemberCluster": {"spec": {
            "endpoints": [{"service": {"namespace": "shop", "name": "checkout"}}],
            "prometheus": {"url": {"basicAuthSecretRef": secret("eu-1-prometheus", "basic"), "caSecretRef": secret("eu-1-ca", "ca.crt")}},
        }},
        "MetricTemplate": {"spec": {
            "query": "max(queue_length{service=\"{{ service }}\"})",
            "histogram": {"buckets": "sum by (le) (increase(x_bucket[{{ window }}]))", "quantile": 0.99, "milliseconds": true},
        }},
        "AlertProvider": {"spec": {
            "slack": {"channel": "#shop", "username": "cutover"}, "cloudEvents": {"source": "https://hub.example.com"},
            "microsoftTeams": {}, "discord": {"username": "cutover"}, "googleChat": {}, "pagerDuty": {}, "opsgenie": {"team": "shop"},
            "rocketChat": {"channel": "#shop", "username": "cutover"}, "mattermost": {"channel": "shop", "username": "cutover"},
            "tokenSecretRef": secret("slack", "token"), "caBundle": "-----BEGIN CERTIFICATE-----",
        }},
        "RolloutRequest": {"spec": {
            "rollout": {"name": "storefront", "uid": "5b0f5c2e-8d3c-4a57-9a3e-0a7c5c1f4b11"}, "verb": "Promote", "run": 7, "step": 2, "sequence": 31,
            "reason": "dashboards look good", "requestedBy": "ann@example.com",
        }},
    })
}

#[test]
fn the_reference_has_every_field_of_every_kind_with_an_example() {
    let examples = examples();
    let mut page = HEAD.to_owned();
    let mut without = Vec::new();
    for definition in definitions().unwrap() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default();
        let said = Section { kind, examples: &examples, rows: Vec::new() }.said(schema(&definition), &mut without);
        page.push_str(&said);
    }
    assert!(without.is_empty(), "no example of these; use them in a file of examples/, or give one here: {without:#?}");
    let path = root().join("docs/reference.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/reference.md differs: UPDATE=1 cargo test --test it reference_page");
}

/// One value of each field, by kind and path, of the files in examples/.
type Examples = BTreeMap<String, Value>;

fn examples() -> Examples {
    let mut found = Examples::new();
    for file in files(&root().join("examples")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for object in serde_yaml::from_multiple::<Value>(&text).unwrap() {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            note(&format!("{kind}.spec"), &object["spec"], &mut found);
        }
    }
    for (kind, object) in rare().as_object().unwrap() {
        note(kind, object, &mut found);
    }
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() => found.extend(files(&path)),
            Some(extension) if extension == "yaml" => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

fn note(path: &str, value: &Value, found: &mut Examples) {
    found.entry(path.to_owned()).or_insert_with(|| value.clone());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| note(&format!("{path}.{name}"), value, found)),
        Value::Array(items) => items.iter().for_each(|value| note(&format!("{path}[]"), value, found)),
        _ => {}
    }
}

/// The part of the page about one kind.
struct Section<'a> {
    kind: &'a str,
    examples: &'a Examples,
    rows: Vec<String>,
}

impl Section<'_> {
    fn said(mut self, schema: &Value, without: &mut Vec<String>) -> String {
        let mut said = format!("\n## {}\n\n{}\n", self.kind, text(schema));
        for part in ["spec", "status"] {
            let of = &schema["properties"][part];
            if of.is_null() {
                continue;
            }
            self.fields(part, of, without);
            let columns = match part {
                "spec" => "| field | type | default | may be | example | what it is |\n|---|---|---|---|---|---|",
                _ => "| field | type | what it is |\n|---|---|---|",
            };
            let rows = std::mem::take(&mut self.rows).join("\n");
            write!(said, "\n### {} {part}\n\n{columns}\n{rows}\n", self.kind).unwrap();
        }
        said
    }

    fn fields(&mut self, path: &str, of: &Value, without: &mut Vec<String>) {
        let required = of["required"].as_array();
        for (name, field) in of["properties"].as_object().into_iter().flatten() {
            let needed = required.is_some_and(|names| names.contains(&json!(name)));
            let path = format!("{path}.{name}");
            let row = if path.starts_with("spec.") {
                self.of_spec(&path, field, needed, without)
            } else {
                format!("| `{}` | {} | {} |", short(&path), type_of(field), text(field))
            };
            self.rows.push(row);
            self.fields(&path, field, without);
            self.fields(&format!("{path}[]"), &field["items"], without);
        }
    }

    fn of_spec(&self, path: &str, field: &Value, required: bool, without: &mut Vec<String>) -> String {
        let name = if required { format!("**`{}`**", short(path)) } else { format!("`{}`", short(path)) };
        let default = if field["default"].is_null() { String::new() } else { code(&field["default"]) };
        let whole = format!("{}.{path}", self.kind);
        let example = self.examples.get(&whole).map(code);
        if example.is_none() {
            without.push(whole);
        }
        let example = example.unwrap_or_default();
        format!("| {name} | {} | {default} | {} | {example} | {} |", type_of(field), bounds(field), text(field))
    }
}

/// Without the part that heads the table.
fn short(path: &str) -> &str {
    path.split_once('.').map_or(path, |(_, rest)| rest)
}

fn type_of(field: &Value) -> String {
    let items = &field["items"];
    match field["type"].as_str() {
        Some("array") => format!("list of {}", type_of(items)),
        Some("object") if field["additionalProperties"].is_object() => "map".to_owned(),
        Some(type_) => type_.to_owned(),
        None => "integer or string".to_owned(),
    }
}

fn bounds(field: &Value) -> String {
    let mut said = Vec::new();
    if let Some(words) = field["enum"].as_array() {
        said.push(words.iter().map(code).collect::<Vec<_>>().join(", "));
    }
    match (field["minimum"].as_f64(), field["maximum"].as_f64()) {
        (Some(least), Some(most)) => said.push(format!("{least} to {most}")),
        (Some(least), None) => said.push(format!("at least {least}")),
        (None, Some(most)) => said.push(format!("at most {most}")),
        (None, None) => {}
    }
    for (key, unit) in [("maxLength", "characters"), ("maxItems", "items"), ("maxProperties", "entries")] {
        said.extend(field[key].as_u64().map(|most| format!("at most {most} {unit}")));
    }
    said.extend(field["pattern"].as_str().map(|pattern| format!("like {}", code(&json!(pattern)))));
    let rules = field["x-kubernetes-validations"].as_array();
    said.extend(rules.into_iter().flatten().filter_map(|rule| rule["message"].as_str()).map(cell));
    said.join("; ")
}

fn text(field: &Value) -> String {
    cell(field["description"].as_str().unwrap_or_default())
}

/// A value as somebody would write it, in one line.
fn code(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = cell(&text);
    let cut: String = line.chars().take(80).collect();
    if cut == line { format!("`{line}`") } else { format!("`{cut}…`") }
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
