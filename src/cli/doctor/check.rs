//! One line of the report: what was looked at, and what was found. Pure.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::cli::CliError;

/// What a check is about; the report has a part for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Section {
    Kinds,
    Rights,
    Hub,
    Admission,
    Members,
    Routes,
    Metrics,
}

impl Section {
    /// Its title.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Kinds => "kinds and versions",
            Self::Rights => "rights",
            Self::Hub => "hub",
            Self::Admission => "admission policies",
            Self::Members => "members",
            Self::Routes => "routes",
            Self::Metrics => "metrics",
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// As it should be; what it is.
    Good(String),
    /// It keeps cutover from working; what is wrong, and what to do.
    Bad { what: String, remedy: String },
    /// It could not be looked at, or only a person can judge it; why, and what to do.
    NotKnown { why: String, remedy: String },
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) section: Section,
    pub(super) subject: String,
    pub(super) outcome: Outcome,
}

impl Check {
    pub(super) fn new(section: Section, subject: impl Into<String>, outcome: Outcome) -> Self {
        Self { section, subject: subject.into(), outcome }
    }

    pub(super) const fn is_bad(&self) -> bool {
        matches!(self.outcome, Outcome::Bad { .. })
    }

    pub(super) const fn is_not_known(&self) -> bool {
        matches!(self.outcome, Outcome::NotKnown { .. })
    }
}

impl Outcome {
    pub(super) fn good(what: impl Into<String>) -> Self {
        Self::Good(what.into())
    }

    pub(super) fn bad(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Bad { what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn not_known(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::NotKnown { why: why.into(), remedy: remedy.into() }
    }

    /// What could not be read.
    pub(super) fn unreadable(error: &CliError, remedy: &str) -> Self {
        Self::not_known(first_line(error), remedy)
    }

    /// How it is called in JSON.
    const fn word(&self) -> &'static str {
        match self {
            Self::Good(_) => "good",
            Self::Bad { .. } => "bad",
            Self::NotKnown { .. } => "notKnown",
        }
    }

    /// The text, and the remedy where one is needed.
    pub(super) fn texts(&self) -> (&str, Option<&str>) {
        match self {
            Self::Good(what) => (what, None),
            Self::Bad { what, remedy } | Self::NotKnown { why: what, remedy } => (what, Some(remedy)),
        }
    }
}

/// What an error says, without the remedy on its further lines.
pub(super) fn first_line(error: &impl fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown<'a> {
            section: Section,
            subject: &'a str,
            outcome: &'static str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            remedy: Option<&'a str>,
        }
        let (message, remedy) = self.outcome.texts();
        let (section, subject, outcome) = (self.section, self.subject.as_str(), self.outcome.word());
        Shown { section, subject, outcome, message, remedy }.serialize(serializer)
    }
}
