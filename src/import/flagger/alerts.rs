//! Alerts of a Canary: the severities are the same, and each needs its AlertProvider in the rollout's namespace.

use std::collections::BTreeSet;

use super::{
    canary::Context,
    names::{free, label},
};
use crate::{
    api::alert::{Alert, MOST, ProviderRef, Severity},
    import::{
        fields::Fields,
        foreign::Place,
        remarks::{Remarks, shown},
    },
};

/// The alerts, in their order; providers of these files are added to `refers_to`.
pub(super) fn alerts(
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    refers_to: &mut Vec<Place>,
    remarks: &mut Remarks,
) -> Vec<Alert> {
    let (mut names, mut alerts) = (BTreeSet::new(), Vec::new());
    fields.each("alerts", remarks, |fields, remarks| {
        let at = format!("spec.alerts[{}]", alerts.len());
        let Some(alert) = alert(fields, context, &at, refers_to, remarks) else { return };
        if alerts.len() < MOST {
            alerts.push(Alert { name: free(&alert.name, &mut names), ..alert });
        } else {
            remarks.lose(fields.path(), format!("a rollout has at most {MOST} alerts"));
        }
    });
    alerts
}

fn alert(
    fields: &mut Fields<'_>,
    context: &Context<'_, '_>,
    at: &str,
    refers_to: &mut Vec<Place>,
    remarks: &mut Remarks,
) -> Option<Alert> {
    let name = label(&fields.take::<String>("name", remarks).unwrap_or_default(), "alert");
    let severity = severity(fields, at, remarks);
    let provider_ref = fields.block("providerRef", remarks, |reference, remarks| {
        let namespace = reference.take::<String>("namespace", remarks);
        let Some(name) = reference.take::<String>("name", remarks) else {
            reference.refuse("name", "missing", "name the AlertProvider", remarks);
            return None;
        };
        provider(&name, namespace, context, at, refers_to, reference.path(), remarks)
    });
    if provider_ref.is_none() {
        fields.refuse("providerRef", "missing", "name the AlertProvider", remarks);
    }
    Some(Alert { name, severity: severity?, provider_ref: provider_ref?? })
}

/// Without one, Flagger sends nothing, though its documentation says that it sends all.
fn severity(fields: &mut Fields<'_>, at: &str, remarks: &mut Remarks) -> Option<Severity> {
    let severity = fields.take::<String>("severity", remarks).unwrap_or_default();
    match severity.as_str() {
        "" => {
            remarks.note(at, "Flagger sends nothing for an alert without a severity; here it sends all.");
            Some(Severity::Info)
        }
        "info" => Some(Severity::Info),
        "warn" => Some(Severity::Warn),
        "error" => Some(Severity::Error),
        _ => {
            fields.refuse("severity", format!("{:?} is no severity", shown(&severity)), "correct it", remarks);
            None
        }
    }
}

/// The provider in the rollout's namespace, where ours has to be.
fn provider(
    name: &str,
    namespace: Option<String>,
    context: &Context<'_, '_>,
    at: &str,
    refers_to: &mut Vec<Place>,
    path: &str,
    remarks: &mut Remarks,
) -> Option<ProviderRef> {
    let own = context.of.namespace();
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    let namespace = namespace.as_deref().or(own);
    let Some(provider) = context.known.alert_provider(namespace, name) else {
        let text = format!("AlertProvider {} is in none of these files; import its file as well.", shown(name));
        remarks.note(at, text);
        return Some(ProviderRef { name: name.to_owned() });
    };
    if provider.readable.is_none() {
        remarks.lose(path, format!("AlertProvider {} was refused, so nothing is sent there", shown(name)));
        return None;
    }
    let place = provider.of.place();
    if !refers_to.contains(&place) {
        refers_to.push(place);
    }
    Some(ProviderRef { name: name.to_owned() })
}
