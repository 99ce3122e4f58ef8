//! `cutover import`: objects of other tools, as cutover's own.

mod live;
mod outlook;

use std::path::PathBuf;

use super::{
    CliError, Exit, Output,
    cluster::Connection,
    files,
    text::{WIDTH, escape, wrap},
};
use crate::{
    import::{self, FlaggerOptions, FlaggerProvider, Imported, Refusal, Source},
    validate::{self, Severity},
};

/// Translate the objects of another tool into those of cutover; offline.
///
/// What has no counterpart is named in a comment, with the reason. What would be unsafe without one is refused, on the error stream,
/// with file, line and remedy. What is printed passes cutover validate. With --live the objects are read from a cluster, and what is
/// printed is what adoption of them would do.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover import flagger canary.yaml templates.yaml service.yaml > rollout.yaml
  cutover import flagger --provider contour canaries
  cutover import flagger --live shop -n shop     what adoption would do; reads, and writes nothing
  cutover import argo-rollouts rollout.yaml templates.yaml service.yaml
  cutover import kruise rollout.yaml service.yaml

Exit status: 0 everything was translated, 1 something was refused, or an error; with --live 0 it can be adopted, 3 it cannot.")]
pub(super) struct Import {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, clap::Subcommand)]
enum Tool {
    Flagger(Flagger),
    /// Translate Rollout, AnalysisTemplate and ClusterAnalysisTemplate of Argo Rollouts, as far as they are about traffic.
    ///
    /// Steps, routes and metrics of Prometheus become a rollout in service mode. Name the files of the Services and templates too.
    #[command(after_help = help("  cutover import argo-rollouts rollout.yaml templates.yaml service.yaml > rollout.yaml
  cutover import argo-rollouts --live shop -n shop

docs/coming-from-argo-rollouts.md says what differs, and how to move without a shift of traffic."))]
    ArgoRollouts(Sources),
    /// Translate Rollout and TrafficRouting of Kruise Rollouts, as far as they are about traffic.
    ///
    /// Steps and routes become a rollout in service mode. Name the files of the Services too.
    #[command(after_help = help("  cutover import kruise rollout.yaml service.yaml > rollout.yaml
  cutover import kruise --live shop -n shop

docs/coming-from-argo-rollouts.md says what differs, and how to move without a shift of traffic."))]
    Kruise(Sources),
}

fn help(examples: &str) -> String {
    format!(
        "Examples:\n{examples}\n\nExit status: 0 everything was translated, 1 something was refused, or an error; with --live 0 it can be adopted, 3 it cannot."
    )
}

#[derive(Debug, clap::Args)]
struct Sources {
    /// Files or folders; `-` is the standard input.
    #[arg(required_unless_present = "live", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read the object of this name in the cluster, and all that it names; show what adoption would do, and write nothing.
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    live: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Translate Flagger's Canary, MetricTemplate and AlertProvider: a Canary of a Service becomes a rollout in service mode.
///
/// Name the files of the Services, metric templates and providers of alerts too: they decide how a Service is reached, and what limits mean.
#[derive(Debug, clap::Args)]
#[command(after_help = help("  cutover import flagger canary.yaml templates.yaml service.yaml > rollout.yaml
  cutover import flagger --provider gatewayapi --create-routes canaries
  cutover import flagger --live shop -n shop
  kubectl get canaries,metrictemplates.flagger.app,alertproviders.flagger.app,services -o yaml | cutover import flagger -

docs/coming-from-flagger.md says what differs, and how to move without a shift of traffic."))]
struct Flagger {
    #[command(flatten)]
    sources: Sources,
    /// The provider of Canaries that name none: what Flagger's own flag -mesh-provider says.
    #[arg(long, value_name = "NAME", default_value = "istio")]
    provider: FlaggerProvider,
    /// Let the hub create the routes, instead of adopting those that Flagger made.
    #[arg(long)]
    create_routes: bool,
}

impl Import {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        match self.tool {
            Tool::Flagger(Flagger { sources, provider, create_routes }) => {
                let options = FlaggerOptions { provider, create_routes };
                sources.run(import::Tool::Flagger, |sources| import::flagger(sources, options), out)
            }
            Tool::ArgoRollouts(sources) => sources.run(import::Tool::ArgoRollouts, import::argo_rollouts, out),
            Tool::Kruise(sources) => sources.run(import::Tool::Kruise, import::kruise, out),
        }
    }
}

impl Sources {
    fn run(
        self,
        tool: import::Tool,
        translation: impl FnOnce(&[Source<'_>]) -> Imported,
        out: &mut Output,
    ) -> Result<Exit, CliError> {
        match self.live {
            Some(name) => live::rehearse(tool, &name, self.connection, translation, out),
            None => translate(&self.files, out, translation),
        }
    }
}

/// Reads files and prints what is made of them.
fn translate(
    files: &[PathBuf],
    out: &mut Output,
    tool: impl FnOnce(&[Source<'_>]) -> Imported,
) -> Result<Exit, CliError> {
    let read = files::read(files).into_iter().map(files::Source::required).collect::<Result<Vec<_>, _>>()?;
    let sources: Vec<Source<'_>> = read.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let imported = checked(tool(&sources));
    if imported.manifests.is_empty() && imported.refusals.is_empty() {
        return Err(CliError::Said("no object that is known here is in these files".to_owned()));
    }
    print(&imported, out)?;
    Ok(if imported.refusals.is_empty() { Exit::Done } else { Exit::Error })
}

fn print(imported: &Imported, out: &mut Output) -> Result<(), CliError> {
    let documents: Vec<&str> = imported.manifests.iter().map(|manifest| manifest.text.as_str()).collect();
    out.text(&documents.join("---\n"))?;
    refused(imported, out);
    if !imported.passed_over.is_empty() {
        out.remark(&wrap(&escape(&format!("passed over: {}", imported.passed_over.join(", "))), WIDTH, 4));
    }
    Ok(())
}

fn refused(imported: &Imported, out: &mut Output) {
    for refusal in &imported.refusals {
        out.remark(&wrap(&escape(&refusal.to_string()), WIDTH, 4));
    }
}

/// A manifest that breaks a rule is a refusal of what it was made of.
fn checked(mut imported: Imported) -> Imported {
    let named = imported.manifests.iter().map(|manifest| (manifest.of.as_str(), manifest.text.as_str()));
    let reports = validate::files(named);
    let mut refused = Vec::new();
    let mut kept = Vec::new();
    for (manifest, report) in imported.manifests.into_iter().zip(reports) {
        let errors = report.problems.into_iter().filter(|found| found.problem.severity == Severity::Error);
        let is_comment = manifest.text.lines().all(|line| line.starts_with('#'));
        let before = refused.len();
        refused.extend(errors.filter(|_| !is_comment).map(|found| Refusal {
            file: manifest.file.clone(),
            line: manifest.line,
            path: manifest.of.clone(),
            found: format!("cannot be a rollout of cutover: {}: {}", found.problem.path, found.problem.found),
            remedy: found.problem.allowed,
        }));
        if refused.len() == before {
            kept.push(manifest);
        }
    }
    imported.manifests = kept;
    imported.refusals.extend(refused);
    imported
}
