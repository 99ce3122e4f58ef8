//! What each kind of route must say of itself; everything else is done once, in [`super`].

use std::sync::Arc;

use kube::core::{ApiResource, DynamicObject};
use serde_json::Value;

use super::RouteError;
use super::capability::Capability;
use crate::api::{Affinity, Distribution, Split, Steering};
use crate::object::Context;
use crate::rollout::input::{Accepted, Problem};

/// Objects in the order of [`Provider::names`]; `None` where there is none.
pub(super) type Objects<'o> = &'o [Option<Arc<DynamicObject>>];

/// One kind of route: how its objects hold weights.
pub(super) trait Provider {
    /// The kind of its objects.
    fn resource(&self) -> ApiResource;

    /// Names of its objects: one, or one a member.
    fn names(&self, context: &Context<'_>) -> Vec<String> {
        vec![self.title(&context.service.name)]
    }

    /// The name by which a person knows it, with its rules.
    fn title(&self, service: &str) -> String;

    /// What it can do.
    fn capability(&self) -> &'static Capability;

    /// The hub makes and owns the object at this index of the names.
    fn creates(&self, context: &Context<'_>, index: usize) -> bool;

    /// The object at this index is the user's own: it is read, and never written.
    fn only_reads(&self, _index: usize) -> bool {
        false
    }

    /// The fields that hold the weights, each as a path of keys.
    fn fields(&self) -> &'static [&'static [&'static str]];

    /// What cannot work together: a weight that would lie, or a member that could not be reached.
    fn problems(&self, context: &Context<'_>) -> Vec<Problem>;

    /// The objects name a backend without weight, which [`Provider::set`] leaves out of an object that is refused.
    fn names_idle(&self, _context: &Context<'_>, _objects: Objects<'_>) -> bool {
        false
    }

    /// The rules that are claimed in one object, by the index of its name.
    fn claims(&self, context: &Context<'_>, objects: Objects<'_>, index: usize) -> Result<Vec<String>, RouteError>;

    /// The weights that live objects hold, brought to the total.
    fn read(&self, context: &Context<'_>, objects: Objects<'_>) -> Result<Distribution, RouteError>;

    /// The objects as they are with these weights, and with these requests sent to canaries beside them; what is not there and not needed stays `None`.
    fn set(
        &self,
        context: &Context<'_>,
        objects: Objects<'_>,
        wanted: &Split,
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError>;

    /// The objects apply this steering already.
    fn applies_steering(&self, _context: &Context<'_>, _objects: Objects<'_>, _steering: &Steering) -> bool {
        false
    }

    /// The objects apply this session affinity already.
    fn applies_affinity(&self, _context: &Context<'_>, _objects: Objects<'_>, _affinity: &Affinity) -> bool {
        false
    }

    /// The objects with these members added at weight 0, where the kind can name a backend without weight.
    fn add_at_zero(
        &self,
        _context: &Context<'_>,
        objects: Objects<'_>,
        _members: &[String],
    ) -> Result<Vec<Option<Arc<DynamicObject>>>, RouteError> {
        Ok(objects.to_vec())
    }

    /// The member for which the user's own Service still stands, so that it has weight and is not named.
    fn named_member(&self, _context: &Context<'_>, _objects: Objects<'_>) -> Option<&'static str> {
        None
    }

    /// The claimed rules of an object before the first write, for [`Provider::restore`].
    fn original_rules(&self, context: &Context<'_>, object: &DynamicObject) -> Result<Value, RouteError>;

    /// Restores the original rules.
    fn restore(&self, context: &Context<'_>, object: &mut DynamicObject, original: &Value);

    /// The order in which objects are brought from `before` to `after`, so that no traffic is ever uncovered.
    fn order(&self, _context: &Context<'_>, before: Objects<'_>, _after: Objects<'_>) -> Vec<usize> {
        (0..before.len()).collect()
    }

    /// The objects stand where they may among [`Context::neighbours`].
    fn is_placed(&self, _context: &Context<'_>, _objects: Objects<'_>) -> bool {
        true
    }

    /// What the data plane says of an object.
    fn accepted(&self, _object: &DynamicObject) -> Accepted {
        Accepted::Unsaid
    }
}

/// An [`ApiResource`] of a group.
pub(super) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The object of a kind that has only one.
pub(super) fn only(objects: Objects<'_>) -> Option<&DynamicObject> {
    objects.first().and_then(Option::as_deref)
}
