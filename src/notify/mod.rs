//! Alerts as the requests that services document, and their delivery.
//!
//! A file per service renders an [`Alert`] as a [`Request`]: pure. [`deliver`] sends one: whatever a service answers, nothing of
//! it is repeated, and nobody waits longer than its timeout.

mod alert;
mod alertmanager;
mod chat;
mod cloud_events;
mod deliver;
mod discord;
mod google_chat;
mod opsgenie;
mod pager_duty;
mod request;
mod slack;
mod teams;
#[cfg(test)]
mod tests;
mod webhook;

pub(crate) use alert::Alert;
pub(crate) use deliver::{Failure, Target, deliver};
pub(crate) use request::{Credentials, render};
