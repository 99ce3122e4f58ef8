//! Objects of the hub cluster: whose they are, who else writes them, and what changes them. Routes and backends are both
//! made of these.

mod context;
pub mod field_manager;
pub mod owner;
mod reach;
mod write;

pub use context::Context;
use kube::ResourceExt;
use kube::core::DynamicObject;
pub use owner::Owner;
pub use reach::Reach;
pub use write::{Target, Write};

/// Kind and name, for messages.
pub(crate) fn describe(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| types.kind.as_str());
    format!("{kind} {}", object.name_any())
}
