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
        let mut reading = Reading { context, refers_to: &mut *refers_to, at };
        let Some(alert) = reading.alert(fields, remarks) else { return };
        if alerts.len() < MOST {
            alerts.push(Alert { name: free(&alert.name, &mut names), ..alert });
        } else {
            remarks.lose(fields.path(), format!("a rollout has at most {MOST} alerts"));
        }
    });
    alerts
}

/// One alert, as it is read.
struct Reading<'r, 'k, 'f> {
    context: &'r Context<'k, 'f>,
    refers_to: &'r mut Vec<Place>,
    /// Its path in the rollout.
    at: String,
}

impl Reading<'_, '_, '_> {
    fn alert(&mut self, fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Alert> {
        let name = label(&fields.take::<String>("name", remarks).unwrap_or_default(), "alert");
        let severity = self.severity(fields, remarks);
        let provider_ref = fields.block("providerRef", remarks, |reference, remarks| self.provider(reference, remarks));
        if provider_ref.is_none() {
            fields.refuse("providerRef", "missing", "name the AlertProvider", remarks);
        }
        Some(Alert { name, severity: severity?, provider_ref: provider_ref?? })
    }

    /// Without one, Flagger sends nothing, though its documentation says that it sends all.
    fn severity(&self, fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Severity> {
        let severity = fields.take::<String>("severity", remarks).unwrap_or_default();
        match severity.as_str() {
            "" => {
                let text = "Flagger sends nothing for an alert without a severity; here it sends all.";
                remarks.note(&self.at, text);
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
    fn provider(&mut self, reference: &mut Fields<'_>, remarks: &mut Remarks) -> Option<ProviderRef> {
        let namespace = reference.take::<String>("namespace", remarks).filter(|namespace| !namespace.is_empty());
        let Some(name) = reference.take::<String>("name", remarks) else {
            reference.refuse("name", "missing", "name the AlertProvider", remarks);
            return None;
        };
        let namespace = namespace.as_deref().or_else(|| self.context.of.namespace());
        let Some(provider) = self.context.known.alert_provider(namespace, &name) else {
            let text = format!("AlertProvider {} is in none of these files; import its file as well.", shown(&name));
            remarks.note(&self.at, text);
            return Some(ProviderRef { name });
        };
        if provider.readable.is_none() {
            let why = format!("AlertProvider {} was refused, so nothing is sent there", shown(&name));
            remarks.lose(reference.path(), why);
            return None;
        }
        let place = provider.of.place();
        if !self.refers_to.contains(&place) {
            self.refers_to.push(place);
        }
        Some(ProviderRef { name })
    }
}
