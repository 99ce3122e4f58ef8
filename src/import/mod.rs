//! Objects of other tools, as cutover's own.
//!
//! Pure: texts in, manifests and refusals out. A field is translated exactly, or named in a comment with the reason;
//! whatever would be unsafe without a counterpart is refused. To add a tool: a folder with its kinds, and a function here.

mod argo_rollouts;
mod fields;
mod flagger;
mod foreign;
mod go_duration;
mod kruise;
mod manifest;
mod metadata;
mod metric;
mod promql;
mod referred;
mod remarks;
mod rollout;
mod scalar;
mod services;
mod steps;
mod writer;

pub use flagger::{Options as FlaggerOptions, Provider as FlaggerProvider};
pub use referred::{Kind, Referred, Tool};
pub use remarks::Refusal;

/// A file's name and its text.
pub type Source<'s> = (&'s str, &'s str);

/// What was made of some files.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The objects, each as a YAML document with its comments.
    pub manifests: Vec<Translated>,
    /// What was refused.
    pub refusals: Vec<Refusal>,
    /// Objects that are not of the tool: `Deployment/shop`.
    pub passed_over: Vec<String>,
}

/// One object of cutover.
#[derive(Clone, Debug)]
pub struct Translated {
    /// What it was made of: `Canary shop`.
    pub of: String,
    /// The file in which that stands.
    pub file: String,
    /// Its line there, from 1.
    pub line: u64,
    /// A YAML document.
    pub text: String,
}

/// Canaries, metric templates and alert providers of Flagger.
pub fn flagger(files: &[Source<'_>], options: FlaggerOptions) -> Imported {
    flagger::import(files, options)
}

/// Rollouts of Argo Rollouts with their analysis templates, as far as they are about traffic.
pub fn argo_rollouts(files: &[Source<'_>]) -> Imported {
    argo_rollouts::import(files)
}

/// Rollouts of Kruise Rollouts with their traffic routings, as far as they are about traffic.
pub fn kruise(files: &[Source<'_>]) -> Imported {
    kruise::import(files)
}
