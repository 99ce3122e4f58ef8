//! Providers of alerts: the five services that Flagger knows are among ours.

use kube::api::ObjectMeta;

use crate::{
    api::{
        AlertProvider as Ours, AlertProviderSpec, Duration,
        alert_provider::{Chat, Discord, GoogleChat, MicrosoftTeams, Receiver, Slack},
        member::SecretKeyRef,
    },
    import::{
        Translated,
        fields::Fields,
        foreign::Foreign,
        manifest::manifest,
        remarks::{Refusal, Remarks, shown},
    },
};

/// What Flagger waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The channel to which Flagger sends where none is named.
const CHANNEL: &str = "general";
/// Where Slack takes messages with a token.
const SLACK_API: &str = "https://slack.com/api/chat.postMessage";

/// An AlertProvider of Flagger.
pub(super) struct AlertProvider<'f> {
    pub(super) of: &'f Foreign,
    /// What it becomes; nothing where it is refused.
    pub(super) readable: Option<AlertProviderSpec>,
    pub(super) refusals: Vec<Refusal>,
    remarks: Remarks,
}

impl<'f> AlertProvider<'f> {
    /// Reads an object.
    pub(super) fn read(of: &'f Foreign) -> Self {
        let mut remarks = of.remarks("Flagger", "");
        let mut fields = of.spec(&mut remarks);
        let readable = spec(&mut fields, &mut remarks);
        fields.name_the_rest(&mut remarks);
        let refusals = remarks.refusals.clone();
        Self { of, readable, refusals, remarks }
    }

    /// Our provider in a namespace, that of a rollout which refers to it.
    pub(super) fn manifest(&self, namespace: Option<&str>) -> Option<Translated> {
        let spec = self.readable.clone()?;
        let mut remarks = self.remarks.clone();
        let moved = self.of.namespace().filter(|own| Some(*own) != namespace);
        if let Some(own) = moved {
            let text = format!("It stood in namespace {}; a rollout's providers are in its own.", shown(own));
            remarks.note("", text);
        }
        if let Some(secret) = spec.url_secret_ref.as_ref().or(spec.token_secret_ref.as_ref()) {
            let secret = shown(&secret.name);
            let copy = if moved.is_some() { "Copy the Secret as well. " } else { "" };
            remarks.note("", format!("{copy}The hub reads a Secret only with this label (docs/alerts.md):"));
            let namespace = namespace.map(|namespace| format!(" -n {}", shown(namespace))).unwrap_or_default();
            remarks.note("", format!("$ kubectl label secret {secret}{namespace} cutover.dev/purpose=alert"));
        }
        let mut provider = Ours::new(self.of.name(), spec);
        let (name, namespace) = (Some(self.of.name().to_owned()), namespace.map(str::to_owned));
        provider.metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
        Some(manifest(&provider, self.of, &remarks))
    }
}

fn spec(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<AlertProviderSpec> {
    fields.lose(&["proxy"], "the hub sends alerts without a proxy", remarks);
    let provider = AlertProviderSpec {
        receiver: receiver(fields, remarks)?,
        url: None,
        url_secret_ref: None,
        token_secret_ref: None,
        timeout: TIMEOUT,
        ca_bundle: None,
    };
    let address = text(fields, "address", remarks);
    let secret = fields.block("secretRef", remarks, |secret, remarks| text(secret, "name", remarks)).flatten();
    match (secret, address) {
        (Some(secret), address) => Some(by_secret(provider, &secret, address.as_deref(), fields, remarks)),
        (None, Some(address)) => by_address(provider, address, fields, remarks),
        (None, None) => {
            fields.refuse("address", "missing", "write it, or secretRef", remarks);
            None
        }
    }
}

/// A text that says something.
fn text(fields: &mut Fields<'_>, key: &str, remarks: &mut Remarks) -> Option<String> {
    fields.take::<String>(key, remarks).filter(|text| !text.is_empty())
}

fn receiver(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Receiver> {
    let service = text(fields, "type", remarks).unwrap_or_default();
    let unused: &[&str] = match service.as_str() {
        "discord" => &["channel"],
        "msteams" | "gchat" => &["channel", "username"],
        _ => &[],
    };
    fields.lose(unused, "the webhook decides it", remarks);
    let channel = Some(text(fields, "channel", remarks).unwrap_or_else(|| CHANNEL.to_owned()));
    let username = text(fields, "username", remarks);
    Some(match service.as_str() {
        "slack" => Receiver::Slack(Slack { channel, username }),
        "rocket" => Receiver::RocketChat(Chat { channel, username }),
        "discord" => Receiver::Discord(Discord { username }),
        "gchat" => Receiver::GoogleChat(GoogleChat {}),
        "msteams" => {
            let connector = "Its URL must be that of a workflow: a connector of Office 365 takes no Adaptive Card.";
            remarks.note("spec.microsoftTeams", connector);
            Receiver::MicrosoftTeams(MicrosoftTeams {})
        }
        other => {
            let found = format!("{:?} is no type of provider", shown(other));
            fields.refuse("type", found, "write slack, msteams, discord, rocket or gchat", remarks);
            return None;
        }
    })
}

/// The address is in the Secret; with the API of Slack, its token.
fn by_secret(
    provider: AlertProviderSpec,
    name: &str,
    address: Option<&str>,
    fields: &Fields<'_>,
    remarks: &mut Remarks,
) -> AlertProviderSpec {
    let key = |key: &str| Some(SecretKeyRef { name: name.to_owned(), key: key.to_owned() });
    let at = "spec.urlSecretRef";
    match (&provider.receiver, address) {
        (Receiver::Slack(_), Some(SLACK_API)) => {
            return AlertProviderSpec { token_secret_ref: key("token"), ..provider };
        }
        (Receiver::Slack(_), _) => {
            remarks.note(at, "If the Secret has a token as well, write tokenSecretRef with the key token instead.");
        }
        (Receiver::Discord(_), _) => remarks.note(at, "If the address ends in /slack, take that off in the Secret."),
        _ => {}
    }
    if address.is_some() {
        remarks.lose(fields.at("address"), "Flagger uses the one in the Secret");
    }
    AlertProviderSpec { url_secret_ref: key("address"), ..provider }
}

fn by_address(
    provider: AlertProviderSpec,
    address: String,
    fields: &Fields<'_>,
    remarks: &mut Remarks,
) -> Option<AlertProviderSpec> {
    let of_discord = matches!(provider.receiver, Receiver::Discord(_));
    // With this ending Discord takes what Slack takes; ours is its own.
    let url = if of_discord { address.strip_suffix("/slack").unwrap_or(&address).to_owned() } else { address };
    if !is_sent_to(&url) {
        fields.refuse("address", "not an http or https URL without user and fragment", "correct it", remarks);
        return None;
    }
    remarks.note("spec.url", "Whoever knows it can post there: better in a Secret (urlSecretRef).");
    Some(AlertProviderSpec { url: Some(url), ..provider })
}

/// What [`AlertProviderSpec::url`] may be.
fn is_sent_to(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let is_plain = |letter: char| !letter.is_whitespace() && letter != '#';
        url.len() <= 2048 && !host.is_empty() && !host.contains('@') && rest.chars().all(is_plain)
    })
}
