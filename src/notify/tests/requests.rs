//! The request of each service, as the service documents it.

use serde_json::{Value, json};

use super::{AT, SECRET, alert, credentials, send};
use crate::{
    http::fixtures::Server,
    notify::{Alert, Credentials},
};

/// What a server got.
struct Got {
    line: String,
    headers: String,
    body: Value,
}

async fn got(spec: Value, alert: &Alert, credentials: &Credentials) -> Got {
    let server = Server::fixed(202, r#"{"ok":true}"#).await;
    send(&server, spec, alert, credentials).await.unwrap();
    let request = server.heads.lock().await.remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let got = Got { line: line.to_owned(), headers: headers.to_owned(), body: serde_json::from_str(body).unwrap() };
    assert!(got.has("idempotency-key: 6f1e9a52.12.1767225600"), "{}", got.headers);
    got
}

impl Got {
    fn has(&self, header: &str) -> bool {
        self.headers.lines().any(|line| line == header)
    }
}

const COMMANDS: &str =
    "cutover why storefront -n shop\ncutover retry storefront -n shop\ncutover abort storefront -n shop";
const LINES: [&str; 3] = [
    "errors: no answer of <!channel> & @all `eu-3`",
    "Metrics of a member are missing, stale or unusable.",
    "run 3, step 2/4, weights eu-1:75 eu-3:25",
];
const TITLE: &str = "shop/storefront: held: MetricsUnknown";
const HOOK: &str = "POST /hooks/T0KEN-xyzzy?key=T0KEN-xyzzy HTTP/1.1";

fn data() -> Value {
    json!({
        "key": "6f1e9a52.12.1767225600", "at": AT, "severity": "Warn", "about": "Hold", "namespace": "shop",
        "rollout": "storefront", "uid": "6f1e9a52", "phase": "Held", "reason": "MetricsUnknown", "meaning": LINES[1],
        "message": LINES[0], "run": 3, "step": "2/4", "weights": "eu-1:75 eu-3:25", "since": AT,
        "commands": COMMANDS.lines().collect::<Vec<_>>(),
    })
}

#[tokio::test]
async fn slack_gets_blocks_in_which_nobody_is_mentioned() {
    let section = |text: String| json!({"type": "section", "text": {"type": "mrkdwn", "text": text}});
    let lines = LINES.join("\n").replace("<!channel> &", "&lt;!channel&gt; &amp;").replace('`', "'");
    let blocks = [section(format!("*{TITLE}*")), section(lines), section(format!("```{COMMANDS}```"))];
    let body = json!({"text": TITLE, "attachments": [{"color": "#daa038", "blocks": blocks}]});
    let hook = got(json!({"slack": {}}), &alert(&json!({})), &Credentials::default()).await;
    assert_eq!((hook.line.as_str(), &hook.body), (HOOK, &body));
    let bot =
        got(json!({"slack": {"channel": "#shop", "username": "cutover"}}), &alert(&json!({})), &credentials()).await;
    assert!(bot.has(&format!("authorization: Bearer {SECRET}")), "{}", bot.headers);
    assert_eq!((&bot.body["channel"], &bot.body["username"]), (&json!("#shop"), &json!("cutover")));
}

#[tokio::test]
async fn an_alertmanager_gets_one_alert_for_a_hold_until_it_ends() {
    let spec = || json!({"alertmanager": {"labels": {"team": "shop", "rollout": "forged"}}});
    let labels = json!({
        "alertname": "CutoverRolloutHeld", "namespace": "shop", "rollout": "storefront", "severity": "warning", "team": "shop",
    });
    let annotations = json!({
        "summary": TITLE, "description": LINES.join("\n"), "commands": COMMANDS, "key": "6f1e9a52.12.1767225600",
    });
    let hold = got(spec(), &alert(&json!({})), &Credentials::default()).await;
    assert_eq!(hold.line, "POST /hooks/T0KEN-xyzzy/api/v2/alerts?key=T0KEN-xyzzy HTTP/1.1");
    let fires =
        json!([{"labels": labels, "annotations": annotations, "startsAt": AT, "endsAt": "2026-01-01T01:15:00Z"}]);
    assert_eq!(hold.body, fires);
    let end = json!({"about": "HoldEnd", "at": "2026-01-01T00:00:00Z", "since": "2025-12-31T23:00:00Z"});
    let end = got(spec(), &alert(&end), &Credentials::default()).await;
    assert_eq!((&end.body[0]["labels"], &end.body[0]["endsAt"]), (&labels, &json!(AT)));
    let failed =
        got(spec(), &alert(&json!({"about": "Transition", "severity": "Error"})), &Credentials::default()).await;
    let expected = (&json!("CutoverRollout"), &json!("critical"), &json!("2026-01-01T01:00:00Z"));
    let one = &failed.body[0];
    assert_eq!((&one["labels"]["alertname"], &one["labels"]["severity"], &one["endsAt"]), expected);
}

#[tokio::test]
async fn a_webhook_gets_everything_signed_with_the_time() {
    let got = got(json!({"webhook": {}}), &alert(&json!({})), &credentials()).await;
    assert_eq!((got.line.as_str(), &got.body), (HOOK, &data()));
    assert!(got.has("content-type: application/json") && got.has("cutover-timestamp: 1767225607"), "{}", got.headers);
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"JefeJefeJefeJefe");
    let signed = aws_lc_rs::hmac::sign(&key, format!("1767225607.{}", got.body).as_bytes());
    let digits: String = signed.as_ref().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    assert!(got.has(&format!("cutover-signature: sha256={digits}")), "{}", got.headers);
}

#[tokio::test]
async fn a_cloud_event_is_structured() {
    let got = got(json!({"cloudEvents": {}}), &alert(&json!({})), &Credentials::default()).await;
    assert!(got.has("content-type: application/cloudevents+json"), "{}", got.headers);
    let event = json!({
        "specversion": "1.0", "id": "6f1e9a52.12.1767225600", "type": "dev.cutover.rollout.hold", "subject": "shop/storefront",
        "source": "/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts/storefront", "time": AT,
        "datacontenttype": "application/json", "data": data(),
    });
    assert_eq!((got.line.as_str(), got.body), (HOOK, event));
}

#[tokio::test]
async fn teams_gets_an_adaptive_card_without_markdown() {
    let got = got(json!({"microsoftTeams": {}}), &alert(&json!({})), &Credentials::default()).await;
    assert_eq!((got.line.as_str(), &got.body["type"]), (HOOK, &json!("message")));
    let attachment = &got.body["attachments"][0];
    assert_eq!(attachment["contentType"], "application/vnd.microsoft.card.adaptive");
    let card = &attachment["content"];
    assert_eq!((&card["type"], &card["version"]), (&json!("AdaptiveCard"), &json!("1.4")));
    let block = |text: &str| json!({"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]});
    assert_eq!(card["body"][1], block(LINES[0]));
    assert_eq!(card["body"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn discord_mentions_nobody() {
    let got = got(json!({"discord": {"username": "cutover"}}), &alert(&json!({})), &Credentials::default()).await;
    let description = format!("{}\n```\n{COMMANDS}\n```", LINES.join("\n"));
    let embed = json!({"title": TITLE, "description": description, "color": 0x00da_a038, "timestamp": AT});
    assert_eq!(
        (got.line.as_str(), got.body),
        (HOOK, json!({"embeds": [embed], "allowed_mentions": {"parse": []}, "username": "cutover"}))
    );
}

#[tokio::test]
async fn google_chat_gets_a_card_whose_texts_are_no_html() {
    let got = got(json!({"googleChat": {}}), &alert(&json!({})), &Credentials::default()).await;
    let card = &got.body["cardsV2"][0];
    assert_eq!((got.line.as_str(), &card["cardId"]), (HOOK, &json!("6f1e9a52.12.1767225600")));
    assert_eq!(card["card"]["header"]["title"], TITLE);
    let widgets = &card["card"]["sections"][0]["widgets"];
    assert_eq!(widgets[0]["textParagraph"]["text"], "errors: no answer of &lt;!channel&gt; &amp; @all `eu-3`");
    assert_eq!(widgets[3]["textParagraph"]["text"], "<code>cutover why storefront -n shop</code>");
}

#[tokio::test]
async fn rocket_chat_and_mattermost_get_an_attachment_of_code() {
    let text = format!("```\n{}\n{COMMANDS}\n```", LINES.join("\n").replace('`', "'"));
    let attachment = json!({"fallback": TITLE, "color": "#daa038", "title": TITLE, "text": text});
    for (key, name) in [("rocketChat", "alias"), ("mattermost", "username")] {
        let spec = json!({key: {"channel": "#shop", "username": "cutover"}});
        let got = got(spec, &alert(&json!({})), &Credentials::default()).await;
        let expected = json!({"text": "", "attachments": [attachment], "channel": "#shop", name: "cutover"});
        assert_eq!((got.line.as_str(), got.body), (HOOK, expected), "{key}");
    }
}

#[tokio::test]
async fn pager_duty_opens_an_incident_for_a_hold_and_resolves_it() {
    let summary = format!("{TITLE}: {}", LINES[0]);
    let payload = json!({
        "summary": summary, "source": "shop/storefront", "severity": "warning", "timestamp": AT, "component": "storefront",
        "group": "shop", "class": "MetricsUnknown", "custom_details": data(),
    });
    let hold = got(json!({"pagerDuty": {}}), &alert(&json!({})), &credentials()).await;
    assert_eq!(hold.line, "POST /hooks/T0KEN-xyzzy/v2/enqueue?key=T0KEN-xyzzy HTTP/1.1");
    let expected = json!({
        "routing_key": SECRET, "event_action": "trigger", "dedup_key": "6f1e9a52.hold", "client": "cutover",
        "payload": payload,
    });
    assert_eq!(hold.body, expected);
    for (change, action, key) in [
        (json!({"about": "HoldEnd"}), "resolve", "6f1e9a52.hold"),
        (json!({"about": "Transition", "severity": "Error"}), "trigger", "6f1e9a52.12.1767225600"),
    ] {
        let got = got(json!({"pagerDuty": {}}), &alert(&change), &credentials()).await;
        assert_eq!((&got.body["event_action"], &got.body["dedup_key"]), (&json!(action), &json!(key)));
    }
    let informs = json!({"about": "Transition", "severity": "Info"});
    let change = got(json!({"pagerDuty": {}}), &alert(&informs), &credentials()).await;
    assert_eq!(change.line, "POST /hooks/T0KEN-xyzzy/v2/change/enqueue?key=T0KEN-xyzzy HTTP/1.1");
    assert_eq!((&change.body["routing_key"], change.body.get("event_action")), (&json!(SECRET), None));
}

#[tokio::test]
async fn opsgenie_gets_an_alert_for_a_hold_and_closes_it() {
    let hold = got(json!({"opsgenie": {"team": "shop"}}), &alert(&json!({})), &credentials()).await;
    assert!(hold.has(&format!("authorization: GenieKey {SECRET}")), "{}", hold.headers);
    assert_eq!(hold.line, "POST /hooks/T0KEN-xyzzy/v2/alerts?key=T0KEN-xyzzy HTTP/1.1");
    let expected = json!({
        "message": TITLE, "alias": "6f1e9a52.hold", "description": format!("{}\n{COMMANDS}", LINES.join("\n")),
        "priority": "P3", "source": "cutover", "entity": "shop/storefront", "tags": ["cutover"],
        "details": {"namespace": "shop", "rollout": "storefront", "reason": "MetricsUnknown", "run": "3", "key": "6f1e9a52.12.1767225600"},
        "responders": [{"type": "team", "name": "shop"}],
    });
    assert_eq!(hold.body, expected);
    let end = got(json!({"opsgenie": {}}), &alert(&json!({"about": "HoldEnd"})), &credentials()).await;
    assert_eq!(end.line, "POST /hooks/T0KEN-xyzzy/v2/alerts/6f1e9a52.hold/close?identifierType=alias HTTP/1.1");
    assert_eq!(end.body, json!({"source": "cutover", "user": "cutover", "note": LINES[0]}));
}
