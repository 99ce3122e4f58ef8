//! Rocket.Chat and Mattermost: incoming webhooks. All that others may have written stands in a block of code, where nobody is
//! mentioned and nothing is a link.

use serde_json::{Value, json};

use super::{Alert, alert::cut, request::Request, slack::set};
use crate::api::alert_provider::Chat;

/// Characters of one line.
const LINE: usize = 2000;

pub(super) fn rocket_chat(chat: &Chat, alert: &Alert) -> Request {
    let mut body = body(chat, alert);
    set(&mut body, "alias", chat.username.as_ref());
    Request::json(&body)
}

pub(super) fn mattermost(chat: &Chat, alert: &Alert) -> Request {
    let mut body = body(chat, alert);
    set(&mut body, "username", chat.username.as_ref());
    Request::json(&body)
}

fn body(chat: &Chat, alert: &Alert) -> Value {
    let lines = alert.lines().into_iter().chain(alert.commands());
    let lines: Vec<String> = lines.map(|line| cut(&line, LINE).replace('`', "'")).collect();
    let text = format!("```\n{}\n```", lines.join("\n"));
    let colour = format!("#{:06x}", alert.colour());
    let attachment = json!({"fallback": alert.title(), "color": colour, "title": alert.title(), "text": text});
    let mut body = json!({"text": "", "attachments": [attachment]});
    set(&mut body, "channel", chat.channel.as_ref());
    body
}
