//! AnalysisTemplates among the files.

use crate::import::foreign::Foreign;

/// The templates of some files.
pub(super) struct Templates<'f>(Vec<&'f Foreign>);

impl<'f> Templates<'f> {
    /// Those among the objects.
    pub(super) fn among(objects: &'f [Foreign]) -> Self {
        let is_one = |one: &&Foreign| ["AnalysisTemplate", "ClusterAnalysisTemplate"].contains(&one.kind());
        Self(objects.iter().filter(|one| one.group() == super::GROUP).filter(is_one).collect())
    }

    /// A template of the Rollout's namespace, or of the whole cluster.
    pub(super) fn find(&self, namespace: Option<&str>, name: &str, of_cluster: bool) -> Option<&'f Foreign> {
        let is_it = |one: &&&Foreign| match one.kind() {
            "ClusterAnalysisTemplate" => of_cluster,
            _ => !of_cluster && one.namespace() == namespace,
        };
        self.0.iter().filter(|one| one.name() == name).find(is_it).copied()
    }
}
