//! What is made of other tools' objects: each fixture with what is printed, word for word, which passes `cutover validate`.
//!
//! `UPDATE=1 cargo test --test it import` writes what is printed; read it before it is committed. Options of a fixture stand in its
//! first line: `# cutover import flagger --create-routes`.

pub(crate) mod fixtures;
mod live;

use std::path::PathBuf;

use cutover::{
    import::argo_rollouts,
    validate::{Severity, file},
    yaml::documents,
};
use fixtures::{Fixture, of};

use crate::command::{cutover, printed};

const TOOLS: [(&str, usize); 3] = [("flagger", 25), ("argo-rollouts", 10), ("kruise", 5)];

#[test]
fn each_shape_becomes_what_was_read_and_approved() {
    let mut wrong = Vec::new();
    for fixture in all() {
        let (status, manifests, refusals) = fixture.import();
        let refused = fixture.expected("refused");
        assert_eq!(status, Some(i32::from(is_refusal(&refusals))), "{}: {refusals}", fixture.name());
        for (kind, found) in [("out.yaml", manifests), ("refused", refusals)] {
            let expected = if kind == "refused" { refused.clone() } else { fixture.expected(kind) };
            if found != expected {
                fixture.update(kind, &found);
                wrong.push(format!("{} {kind}:\n{found}", fixture.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Objects that are passed over are none.
fn is_refusal(said: &str) -> bool {
    !said.is_empty() && !said.starts_with("passed over: ")
}

#[test]
fn what_is_printed_passes_validate() {
    for fixture in all() {
        let text = fixture.expected("out.yaml");
        if text.lines().any(|line| !line.starts_with('#')) {
            let errors = file(&text).problems.into_iter().filter(|found| found.problem.severity == Severity::Error);
            let errors: Vec<String> = errors.map(|found| format!("{}: {}", found.line, found.problem)).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", fixture.name());
        }
    }
}

/// Whatever is added to an object is named: nothing of it can be lost in silence.
#[test]
fn every_field_that_is_not_known_is_named() {
    for fixture in all() {
        let (text, places) = fixture.with_unknown_fields();
        let imported = fixture.imported(&text);
        let said: String = imported.manifests.iter().map(|manifest| manifest.text.as_str()).collect();
        let unwrapped = said.replace("\n#   ", " ");
        if imported.refusals.is_empty() {
            for place in places {
                assert!(unwrapped.contains(&place), "{}: {place} is not named in:\n{said}", fixture.name());
            }
        }
    }
}

/// Whatever somebody wrote in its place, the rest is read, and what is made of it is a document or a refusal.
#[test]
fn no_value_of_a_field_ends_the_import() {
    for fixture in all() {
        for text in fixture.with_odd_values() {
            let imported = fixture.imported(&text);
            let is_known = !imported.manifests.is_empty() || !imported.refusals.is_empty();
            assert!(is_known || !imported.passed_over.is_empty(), "{}:\n{text}", fixture.name());
            for manifest in imported.manifests {
                let documents = documents(&manifest.text);
                assert!(documents.is_ok(), "{}: {documents:?} in:\n{}\nof:\n{text}", fixture.name(), manifest.text);
            }
        }
    }
}

#[test]
fn templates_that_name_themselves_again_and_again_are_refused_soon_and_once() {
    let named: String = vec!["{templateName: all}"; 2_000].join(", ");
    let text = format!(
        "{{apiVersion: argoproj.io/v1alpha1, kind: AnalysisTemplate, metadata: {{name: all}}, spec: {{templates: [{named}]}}}}\n---\n\
         {{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {{name: cart}}, spec: {{strategy: {{canary: {{\
         stableService: cart, analysis: {{templates: [{{templateName: all}}]}}, steps: [{{setWeight: 5}}]}}}}}}}}\n"
    );
    let refusals = argo_rollouts(&[("bomb.yaml", &text)]).refusals;
    let refused = refusals.iter().filter(|refusal| refusal.found == "refers to itself, or too deeply").count();
    assert_eq!(refused, 1, "{refusals:?}");
}

#[test]
fn enough_documented_shapes_are_there() {
    for (tool, least) in TOOLS {
        let count = of(tool).len();
        assert!(count >= least, "{tool}: {count}");
    }
}

fn all() -> Vec<Fixture> {
    TOOLS.iter().flat_map(|(tool, _)| of(tool)).collect()
}

#[test]
fn a_file_without_anything_known_is_an_error() {
    let (status, out, said) = printed(&cutover(&["import", "flagger", "examples/first-rollout/rollout.yaml"]));
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert_eq!(said, "cutover: no object that is known here is in these files\n");
    let unknown = PathBuf::from("no-such-file.yaml");
    let (status, _, said) = printed(&cutover(&["import", "flagger", unknown.to_str().unwrap()]));
    assert_eq!((status, said.contains("No such file")), (Some(1), true), "{said}");
}
