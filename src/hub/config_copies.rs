//! Writes the copies of ConfigMaps and Secrets that are kept for the primary. Contents go from one answer of the API server into
//! the next request, and nowhere else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use super::{Hub, calls::CallError, subject::Subject, turns::Turn};
use crate::{
    api::{
        FleetRollout, FleetRolloutStatus,
        track::{Configs, Site},
    },
    object::Write,
    tracking::{self, CopyError, Place, Source},
};

/// The copies of one rollout.
pub(super) struct ConfigCopies<'a> {
    pub(super) hub: &'a Hub,
    pub(super) turn: &'a Turn,
    pub(super) subject: &'a Subject<'a>,
    pub(super) owner: &'a FleetRollout,
}

impl ConfigCopies<'_> {
    /// Makes the copies what these were when they passed; goes on past failures.
    pub(super) async fn write(&self, passed: &Configs) -> Result<(), CallError> {
        let owner = self.owner.owner_ref(&()).ok_or(CallError::Gone)?;
        let mut result = Ok(());
        for one in passed.iter() {
            result = result.and(self.write_one(one, &owner).await);
        }
        result
    }

    async fn write_one(&self, passed: (&str, &str), owner: &OwnerReference) -> Result<(), CallError> {
        match tracking::copy(&self.source(), &self.place(), passed, owner).await {
            Ok(None) => Ok(()),
            Ok(Some(write)) => self.hub.calls.write_config_copy(self.turn, &write).await,
            // The next time they are read that is seen.
            Err(CopyError::Changed) => Err(CallError::Conflict),
            Err(CopyError::Unusable(problem)) => Err(CallError::Refused(problem.message)),
        }
    }

    /// Takes the rollout out of the owners of all that it may own. What may not be read or written any more is left alone: that
    /// keeps no rollout from being deleted.
    pub(super) async fn release(&self, status: &FleetRolloutStatus) -> Result<(), CallError> {
        let passed = status.promoted.as_ref().map(|promoted| promoted.configs.of(&Site::Hub)).unwrap_or_default();
        let mut result = Ok(());
        for (name, _) in passed.iter() {
            if let Ok(Some(write)) = tracking::released_copy(&self.source(), &self.place(), name).await {
                result = result.and(self.release_one(&write).await);
            }
        }
        result
    }

    async fn release_one(&self, write: &Write) -> Result<(), CallError> {
        match self.hub.calls.write_config_copy(self.turn, write).await {
            Err(CallError::Refused(why)) => {
                tracing::warn!(rollout = self.subject.name, why, "a copy goes with the rollout");
                Ok(())
            }
            result => result,
        }
    }

    fn source(&self) -> Source {
        Source::Hub(self.hub.calls.reader())
    }

    fn place(&self) -> Place<'_> {
        Place { site: &Site::Hub, namespace: &self.subject.namespace, salt: &self.subject.uid }
    }
}
