//! SARIF 2.1.0, the format in which code hosts take the findings of a tool.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Reports, all};
use crate::validate::{Found, Severity};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// All problems as one run. A rule is a field, without its place in lists.
pub(super) fn sarif(reports: &Reports) -> Value {
    let found = all(reports);
    let rules: BTreeSet<String> = found.iter().map(|(_, found)| rule(&found.problem.path)).collect();
    let results = found.iter().map(|(file, found)| result(file, found, &rules));
    let rules =
        rules.iter().map(|id| json!({"id": id, "shortDescription": {"text": format!("What is declared at {id}")}}));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "cutover",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn result(file: &str, found: &Found, rules: &BTreeSet<String>) -> Value {
    let Found { line, column, problem, .. } = found;
    let id = rule(&problem.path);
    let level = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    };
    let mut region = json!({"startLine": (*line).max(1)});
    if let Some(column) = column {
        region["startColumn"] = json!((*column).max(1));
    }
    let text = format!("{}: {}; {}", problem.path, problem.found, problem.allowed);
    json!({
        "ruleIndex": rules.iter().position(|known| *known == id),
        "ruleId": id,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(file)}, "region": region}}],
    })
}

/// `spec.strategy.steps[1].progress` without `[1]`; of a key that is no word, the block in which it stands.
fn rule(path: &str) -> String {
    let block = path.split_once("[\"").map_or(path, |(block, _)| block);
    block.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// A file's name as a relative reference of RFC 3986.
fn uri(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let name = file.trim_start_matches("./");
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::{rule, uri};

    #[test]
    fn a_rule_is_a_field_and_a_file_is_a_reference() {
        assert_eq!(rule("spec.services[0].routes[1].gatewayAPI"), "spec.services.routes.gatewayAPI");
        assert_eq!(rule("metadata.labels[\"a]b\"]"), "metadata.labels");
        assert_eq!(uri("./a b/ü.yaml"), "a%20b/%C3%BC.yaml");
    }
}
