//! Bodies in Kubernetes' protobuf encoding, as far as `kubectl create` sends them: namespaces and Secrets.
//!
//! Fields have the numbers of `generated.proto` in k8s.io/api and k8s.io/apimachinery.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// What every such body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// The object in a body; nothing where it is of another kind, or cannot be read.
pub(super) fn object(body: &[u8]) -> Option<Value> {
    let envelope = Message::read(body.strip_prefix(MAGIC)?)?;
    let (types, raw) = (Message::read(envelope.bytes(1))?, Message::read(envelope.bytes(2))?);
    let mut object = match types.text(2)?.as_str() {
        "Namespace" => json!({}),
        "Secret" => {
            let data = raw.map(2, |bytes| Some(json!(ByteString(bytes.to_vec()))))?;
            without_empty(json!({"data": data, "type": raw.text(3)?}))
        }
        _ => return None,
    };
    object["apiVersion"] = types.text(1)?.into();
    object["kind"] = types.text(2)?.into();
    object["metadata"] = metadata(&Message::read(raw.bytes(1))?)?;
    Some(object)
}

fn metadata(message: &Message<'_>) -> Option<Value> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().map(Value::from);
    let mut metadata = json!({"labels": message.map(11, text)?, "annotations": message.map(12, text)?});
    for (number, name) in [(1, "name"), (2, "generateName"), (3, "namespace")] {
        metadata[name] = message.text(number)?.into();
    }
    Some(without_empty(metadata))
}

/// An empty field of a message is one that is not set.
fn without_empty(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| *value != json!("") && *value != json!({}));
    }
    object
}

/// The fields of a message that have a length: texts, bytes and messages. Numbers are skipped.
struct Message<'b>(Vec<(u64, &'b [u8])>);

impl<'b> Message<'b> {
    fn read(mut rest: &'b [u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let tag = number(&mut rest)?;
            let length = match tag & 7 {
                0 => {
                    number(&mut rest)?;
                    continue;
                }
                1 => 8,
                2 => number(&mut rest)?,
                5 => 4,
                _ => return None,
            };
            let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            rest = after;
            if tag & 7 == 2 {
                fields.push((tag >> 3, value));
            }
        }
        Some(Self(fields))
    }

    /// A field; empty where it is missing, as protobuf means it.
    fn bytes(&self, number: u64) -> &'b [u8] {
        self.0.iter().rev().find(|(known, _)| *known == number).map_or(&[], |(_, value)| value)
    }

    fn text(&self, number: u64) -> Option<String> {
        String::from_utf8(self.bytes(number).to_vec()).ok()
    }

    /// A map from texts: one message for each entry, with the key in field 1 and the value in field 2.
    fn map(&self, number: u64, value: impl Fn(&[u8]) -> Option<Value>) -> Option<Value> {
        let entries = self.0.iter().filter(|(known, _)| *known == number);
        let pair = |(_, entry): &(u64, &[u8])| {
            let entry = Message::read(entry)?;
            Some((entry.text(1)?, value(entry.bytes(2))?))
        };
        let map: BTreeMap<String, Value> = entries.map(pair).collect::<Option<_>>()?;
        Some(json!(map))
    }
}

/// A number of variable length, and what follows it.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut found = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        found |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a length below 128.
    fn field(number: u8, value: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(value.len()).unwrap()], value].concat()
    }

    fn body(kind: &str, raw: &[Vec<u8>]) -> Vec<u8> {
        let types = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC, &field(1, &types), &field(2, &raw.concat())].concat()
    }

    #[test]
    fn what_kubectl_create_sends_is_read() {
        let named = |name: &[u8]| field(1, &[field(1, name), field(3, b"shop"), vec![7 << 3, 0x80, 1]].concat());
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "namespace": "shop"}});
        assert_eq!(object(&body("Namespace", &[named(b"a")])), Some(namespace));
        let entry = [field(1, b"token"), field(2, b"abc")].concat();
        let secret = object(&body("Secret", &[named(b"s"), field(2, &entry), field(3, b"Opaque")])).unwrap();
        assert_eq!((&secret["data"]["token"], &secret["type"]), (&json!("YWJj"), &json!("Opaque")));
    }

    #[test]
    fn what_cannot_be_read_is_no_object() {
        let whole = body("Namespace", &[field(1, &field(1, b"a"))]);
        assert!(
            (0..whole.len()).all(|length| object(&whole[..length]).is_none_or(|cut| cut["metadata"]["name"] != "a"))
        );
        assert_eq!(object(&body("Pod", &[])), None);
        assert_eq!(object(b"{}"), None);
    }
}
