//! Copies for the primary: `<name>-primary` has the content of a ConfigMap or Secret that passed last.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{ResourceExt, core::DynamicObject};
use serde_json::Value;

use super::{
    Place, Source,
    content::{content, is_copy_of},
    references::Reference,
};
use crate::{
    api::{
        Reason,
        track::{ABSENT, COPY_OF_ANNOTATION, Configs},
    },
    object::Write,
    rollout::input::Problem,
};

/// Why a copy is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopyError {
    /// The original is not what passed any more, or not there.
    #[error("the original is not what passed")]
    Changed,
    /// Something could not be read, or is not the hub's to write.
    #[error("{}", .0.message)]
    Unusable(Problem),
}

impl From<Problem> for CopyError {
    fn from(problem: Problem) -> Self {
        Self::Unusable(problem)
    }
}

/// Fingerprints of the copies of these that the rollout owns, by the names of their originals.
///
/// # Errors
/// When one cannot be read, or an object of that name is no copy.
pub(crate) async fn read_copies(source: &Source, place: &Place<'_>, used: &Configs) -> Result<Configs, Problem> {
    let mut found = Vec::new();
    for original in references(used) {
        let Some(copy) = known_copy(source, place, &original).await? else { continue };
        let owners = copy["metadata"]["ownerReferences"].as_array();
        if owners.into_iter().flatten().any(|owner| owner["uid"] == place.salt) {
            found.push((original.to_string(), content(&copy, &original, place.salt)));
        }
    }
    Ok(Configs::at(place.site, found))
}

/// What makes the copy of this one be what passed; nothing where it is that.
///
/// # Errors
/// When the original is another one by now, or something cannot be read.
pub(crate) async fn copy(
    source: &Source,
    place: &Place<'_>,
    (name, passed): (&str, &str),
    owner: &OwnerReference,
) -> Result<Option<Write>, CopyError> {
    let original = Reference::parse(name).ok_or(CopyError::Changed)?;
    let found = source.get(place, &original.path(place.namespace)).await?.ok_or(CopyError::Changed)?;
    if content(&found, &original, place.salt) != passed {
        return Err(CopyError::Changed);
    }
    let before = known_copy(source, place, &original).await?.and_then(object);
    let fresh = || DynamicObject::new(&original.copy().name, &original.resource()).within(place.namespace);
    let mut after = before.clone().unwrap_or_else(fresh);
    after.annotations_mut().insert(COPY_OF_ANNOTATION.to_owned(), original.name.clone());
    if !after.owner_references().iter().any(|known| known.uid == owner.uid) {
        after.owner_references_mut().push(owner.clone());
    }
    fill(&mut after.data, &found, before.is_none());
    Ok(Write::between(original.copy().target(place.namespace), before.as_ref(), Some(after)))
}

/// The data of the original; all else stays as it is. The type of a Secret cannot change.
fn fill(copy: &mut Value, original: &Value, is_new: bool) {
    let kind = if is_new { &["type"][..] } else { &[] };
    for key in ["data", "binaryData"].iter().chain(kind) {
        copy[*key] = original[*key].clone();
    }
    // What the original has not, the copy has not.
    if let Some(fields) = copy.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

/// What takes the rollout out of the owners of a copy, so that it outlives the rollout; nothing where it is none of them.
///
/// # Errors
/// When the copy cannot be read.
pub(crate) async fn released_copy(source: &Source, place: &Place<'_>, name: &str) -> Result<Option<Write>, Problem> {
    let Some(original) = Reference::parse(name) else { return Ok(None) };
    let found = source.get(place, &original.copy().path(place.namespace)).await?;
    let Some(before) = found.filter(|found| is_copy_of(found, &original)).and_then(object) else { return Ok(None) };
    let mut after = before.clone();
    after.owner_references_mut().retain(|owner| owner.uid != place.salt);
    Ok(Write::between(original.copy().target(place.namespace), Some(&before), Some(after)))
}

fn object(value: Value) -> Option<DynamicObject> {
    serde_json::from_value(value).ok()
}

/// Those that exist.
fn references(used: &Configs) -> impl Iterator<Item = Reference> {
    used.iter().filter(|(_, fingerprint)| *fingerprint != ABSENT).filter_map(|(name, _)| Reference::parse(name))
}

async fn known_copy(source: &Source, place: &Place<'_>, original: &Reference) -> Result<Option<Value>, Problem> {
    let copy = original.copy();
    let found = source.get(place, &copy.path(place.namespace)).await?;
    if found.as_ref().is_some_and(|found| !is_copy_of(found, original)) {
        let message = format!(
            "{copy} exists in namespace {} and is no copy that cutover made; delete it, or leave `primaryCopies` out",
            place.namespace
        );
        return Err(Problem::new(Reason::Conflict, message));
    }
    Ok(found)
}
