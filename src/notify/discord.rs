//! Discord: a webhook of a channel. Nobody is mentioned, whatever the text says.

use serde_json::json;

use super::{Alert, alert::cut, request::Request, slack::set};
use crate::api::alert_provider::Discord;

/// Characters of a title.
const TITLE: usize = 256;
/// Characters of a description, which may have 4096.
const TEXT: usize = 3000;

pub(super) fn render(discord: &Discord, alert: &Alert) -> Request {
    let lines: Vec<String> = alert.lines().iter().map(|line| cut(line, TEXT / 3)).collect();
    let description = format!("{}\n```\n{}\n```", lines.join("\n"), alert.commands().join("\n").replace('`', "'"));
    let embed = json!({
        "title": cut(&alert.title(), TITLE), "description": description, "color": alert.colour(),
        "timestamp": alert.what.at,
    });
    let mut body = json!({"embeds": [embed], "allowed_mentions": {"parse": []}});
    set(&mut body, "username", discord.username.as_ref());
    Request::json(&body)
}
