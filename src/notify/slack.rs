//! Slack: an incoming webhook, or `chat.postMessage`. Both take the same blocks.

use serde_json::{Value, json};

use super::{
    Alert,
    alert::cut,
    request::{Credentials, Request, Taken},
};
use crate::api::alert_provider::Slack;

/// Characters that a text of a section may have, with room for what is escaped.
const SECTION: usize = 2000;

pub(super) fn render(slack: &Slack, alert: &Alert, credentials: &Credentials) -> Request {
    let section = |text: String| json!({"type": "section", "text": {"type": "mrkdwn", "text": text}});
    let title = escaped(&alert.title());
    let blocks = [
        section(format!("*{title}*")),
        section(escaped(&alert.lines().join("\n"))),
        section(format!("```{}```", escaped(&alert.commands().join("\n")))),
    ];
    let mut body =
        json!({"text": title, "attachments": [{"color": format!("#{:06x}", alert.colour()), "blocks": blocks}]});
    set(&mut body, "channel", slack.channel.as_ref());
    set(&mut body, "username", slack.username.as_ref());
    let request = Request::json(&body).authorized("Bearer", credentials);
    let taken = if credentials.token.is_some() { Taken::ByOk } else { Taken::ByStatus };
    Request { taken, ..request }
}

/// Sets a field that is given.
pub(super) fn set(body: &mut Value, field: &str, value: Option<&String>) {
    if let Some(value) = value {
        body[field] = json!(value);
    }
}

/// Nothing in it is a link, a mention or the end of a block of code.
fn escaped(text: &str) -> String {
    cut(text, SECTION).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('`', "'")
}
