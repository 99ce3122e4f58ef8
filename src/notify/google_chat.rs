//! Google Chat: a webhook of a space. The texts of a card are simple HTML, in which nobody is mentioned.

use serde_json::json;

use super::{Alert, alert::cut, request::Request};

/// Characters of one text.
const TEXT: usize = 2000;

pub(super) fn render(alert: &Alert) -> Request {
    let paragraph = |text: String| json!({"textParagraph": {"text": text}});
    let lines = alert.lines().into_iter().map(|line| paragraph(escaped(&line)));
    let commands = alert.commands().into_iter().map(|command| paragraph(format!("<code>{}</code>", escaped(&command))));
    let widgets: Vec<_> = lines.chain(commands).collect();
    let card = json!({"header": {"title": cut(&alert.title(), TEXT)}, "sections": [{"widgets": widgets}]});
    Request::json(&json!({"cardsV2": [{"cardId": alert.key(), "card": card}]}))
}

fn escaped(text: &str) -> String {
    cut(text, TEXT).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
