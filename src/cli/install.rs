//! `cutover install` and `cutover uninstall`: what a hub cluster needs, from config/ and deploy/.

use clap::ValueEnum;
use regex::Regex;

use super::{CliError, Exit, Output, hub_liveness};
use crate::api::name;

/// The namespace in the files.
const NAMESPACE: &str = hub_liveness::NAMESPACE;
/// The line of the image in deploy/hub.yaml.
const IMAGE: &str = "image: cutover\n";
/// A name with an optional registry, tag and digest.
const IMAGE_PATTERN: &str =
    "^[a-z0-9][A-Za-z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9._-]+)?(@sha256:[0-9a-f]{64})?$";

/// In the order in which an API server takes them: the namespace, kinds, rights, then what uses them.
const BEFORE: &[&str] = &[
    include_str!("../../deploy/namespace.yaml"),
    include_str!("../../config/crd/fleetrollouts.yaml"),
    include_str!("../../config/crd/memberclusters.yaml"),
    include_str!("../../config/crd/metrictemplates.yaml"),
    include_str!("../../config/crd/rolloutrequests.yaml"),
    include_str!("../../config/crd/alertproviders.yaml"),
    include_str!("../../config/rbac/hub.yaml"),
    include_str!("../../config/rbac/hub-token-renewal.yaml"),
    include_str!("../../config/rbac/people.yaml"),
];
const AFTER: &[&str] = &[
    include_str!("../../config/admission/authors.yaml"),
    include_str!("../../config/admission/requested-by.yaml"),
    include_str!("../../config/admission/declared-by.yaml"),
    include_str!("../../deploy/network-policy.yaml"),
    include_str!("../../deploy/hub.yaml"),
];

/// A kind of route that the hub gets the rights for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Routes {
    /// `HTTPRoute`.
    GatewayApi,
    /// `HTTPProxy`.
    Contour,
    /// `VirtualService`.
    Istio,
    /// `RouteGroup`.
    Skipper,
    /// `Ingress`: nginx, aliyunALB, and Skipper's.
    Ingress,
}

impl Routes {
    const fn file(self) -> &'static str {
        match self {
            Self::GatewayApi => include_str!("../../config/rbac/routes/gateway-api.yaml"),
            Self::Contour => include_str!("../../config/rbac/routes/contour.yaml"),
            Self::Istio => include_str!("../../config/rbac/routes/istio.yaml"),
            Self::Skipper => include_str!("../../config/rbac/routes/skipper.yaml"),
            Self::Ingress => include_str!("../../config/rbac/routes/ingress.yaml"),
        }
    }
}

/// Print all that a hub cluster needs: CRDs, roles, admission policies, and the hub.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover install --image REGISTRY/cutover:0.1.0 | kubectl apply --server-side -f -
  cutover install --image REGISTRY/cutover:0.1.0 --routes gateway-api,contour > cutover.yaml

`cutover uninstall` prints what takes it away.

Exit status: 0 done, 1 an error.")]
pub(super) struct Install {
    /// The image of the hub, as you pushed it.
    #[arg(long, value_parser = image)]
    image: String,
    /// The namespace of the hub and of the members' Secrets.
    #[arg(long, default_value = NAMESPACE, value_parser = namespace)]
    namespace: String,
    /// Kinds of routes that the hub may write, separated by commas; default: all.
    #[arg(long, value_enum, value_delimiter = ',')]
    routes: Vec<Routes>,
}

/// Print a script that takes cutover away from a hub cluster, in an order that touches no traffic.
///
/// Rollouts and members are deleted first, and the hub must run until they are gone: it gives back the routes and removes
/// the finalizers. Routes keep their weights, but those of rollouts with deletionPolicy: Revert. The namespace of the hub is deleted with
/// all that is in it, such as the Secrets of members.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover uninstall                     read it first
  cutover uninstall | sh

Exit status: 0 done, 1 an error.")]
pub(super) struct Uninstall {
    /// The namespace of the hub.
    #[arg(long, default_value = NAMESPACE, value_parser = namespace)]
    namespace: String,
}

impl Install {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        let routes = if self.routes.is_empty() { Routes::value_variants() } else { &self.routes };
        let manifests = manifests(routes, &self.namespace, &self.image);
        manifests.iter().try_for_each(|one| out.text("---\n").and_then(|()| out.text(one)))?;
        Ok(Exit::Done)
    }
}

impl Uninstall {
    pub(super) fn run(&self, out: &mut Output) -> Result<Exit, CliError> {
        let manifests = manifests(Routes::value_variants(), &self.namespace, "cutover");
        let backwards = manifests.iter().rev().map(String::as_str).collect::<Vec<_>>().join("---\n");
        out.text(&format!(
            "set -e
# The hub must run until these are gone: it gives back their routes and removes their finalizers.
kubectl delete fleetrollouts.cutover.dev --all --all-namespaces --wait
kubectl delete memberclusters.cutover.dev --all --wait
# Then the hub, the roles, the kinds and the namespace.
kubectl delete --ignore-not-found --wait -f - <<'MANIFESTS'
{backwards}MANIFESTS
"
        ))?;
        Ok(Exit::Done)
    }
}

/// The files, each without the line that begins a document.
fn manifests(routes: &[Routes], namespace: &str, image: &str) -> Vec<String> {
    let files = BEFORE.iter().copied().chain(routes.iter().map(|kind| kind.file())).chain(AFTER.iter().copied());
    let fill = |file: &str| {
        let file = file.strip_prefix("---\n").unwrap_or(file);
        file.replace(NAMESPACE, namespace).replace(IMAGE, &format!("image: {image}\n"))
    };
    files.map(fill).collect()
}

fn namespace(text: &str) -> Result<String, String> {
    matching(text, name::LABEL, "a name of lower-case letters, digits and \"-\"")
}

fn image(text: &str) -> Result<String, String> {
    matching(text, IMAGE_PATTERN, "an image, such as registry.example.com/cutover:0.1.0")
}

fn matching(text: &str, pattern: &str, what: &str) -> Result<String, String> {
    let fits = text.len() <= 255 && Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    if fits { Ok(text.to_owned()) } else { Err(format!("write {what}")) }
}
