//! Alerts: they are declared otherwise, so each is named with what takes its place.

use crate::import::{
    Translated,
    fields::Fields,
    foreign::Foreign,
    manifest::comment,
    remarks::{Remarks, shown},
};

const MEANWHILE: &str = "write spec.alerts and an AlertProvider of cutover (docs/alerts.md)";

/// Names every alert of a Canary.
pub(super) fn alerts(fields: &mut Fields<'_>, remarks: &mut Remarks) {
    fields.each("alerts", remarks, |alert, remarks| {
        let name = alert.take::<String>("name", remarks).unwrap_or_default();
        alert.any("severity");
        alert.any("providerRef");
        remarks.lose(alert.path(), format!("{}; {MEANWHILE}", shown(&name)));
    });
}

/// What is said in the place of an AlertProvider.
pub(super) fn provider(of: &Foreign) -> Translated {
    let mut remarks = Remarks::default();
    remarks.note("", format!("{} of Flagger has no counterpart; {MEANWHILE}.", of.title()));
    comment(of, &remarks)
}
