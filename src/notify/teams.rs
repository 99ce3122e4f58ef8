//! Microsoft Teams: a workflow that posts an Adaptive Card. The texts are runs, in which nothing is Markdown.

use serde_json::{Value, json};

use super::{Alert, alert::cut, request::Request};

/// Characters of one text.
const TEXT: usize = 2000;

pub(super) fn render(alert: &Alert) -> Request {
    let run = |text: String, style: Value| {
        let mut run = json!({"type": "TextRun", "text": cut(&text, TEXT)});
        json_patch::merge(&mut run, &style);
        json!({"type": "RichTextBlock", "inlines": [run]})
    };
    let title = run(alert.title(), json!({"weight": "Bolder", "size": "Medium"}));
    let lines = alert.lines().into_iter().map(|line| run(line, json!({})));
    let commands = alert.commands().into_iter().map(|command| run(command, json!({"fontType": "Monospace"})));
    let body: Vec<Value> = std::iter::once(title).chain(lines).chain(commands).collect();
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
    });
    let attachment = json!({"contentType": "application/vnd.microsoft.card.adaptive", "content": card});
    Request::json(&json!({"type": "message", "attachments": [attachment]}))
}
