//! Requests made from a seed: three objects, written, read and deleted in every order.

use super::case::Case;

/// A small generator of numbers: good enough to choose requests, the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % most
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

pub fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut dice = Dice(seed);
    (0..count).map(|_| case(&mut dice)).collect()
}

fn case(dice: &mut Dice) -> Case {
    let kind = dice.pick(&["things", "things", "plains", "configmaps"]);
    let name = dice.pick(&["gen-a", "gen-b", "gen-c"]);
    let one = format!("{kind}/{name}");
    let mut case = match dice.below(12) {
        0..3 => Case::new("POST", kind, &object(dice, kind, name, "")),
        3 => Case::new("PUT", &one, &object(dice, kind, name, "")),
        4 => Case::new("PUT", &one, &object(dice, kind, name, "@rv")),
        5 | 6 => Case::new("MERGE", &one, &object(dice, kind, name, "")),
        7 => Case::new("JSON", &one, json_patch(dice)),
        8 => Case::new("DELETE", &one, dice.pick(&["", "", "{\"preconditions\":{\"resourceVersion\":\"@rv\"}}"])),
        9 => Case::new("GET", &one, ""),
        10 => Case::new("GET", &format!("{kind}?{}", dice.pick(SELECTORS)), ""),
        _ if kind == "things" => Case::new("MERGE", &format!("{one}/status"), dice.pick(STATUSES)),
        _ => Case::new("MERGE", &one, "{\"metadata\":{\"finalizers\":null}}"),
    };
    dice.pick(&["conformance/1", "other/2"]).clone_into(&mut case.agent);
    if dice.below(8) == 0 && !case.path.contains('?') && !case.body.is_empty() {
        case.path.push_str("?dryRun=All");
    }
    case
}

const SELECTORS: &[&str] =
    &["labelSelector=a%3D1", "labelSelector=a", "labelSelector=!a", "fieldSelector=metadata.name%3Dgen-a"];
const STATUSES: &[&str] = &[
    r#"{"status":{"phase":"Good"}}"#,
    r#"{"status":{"phase":"Wrong"}}"#,
    r#"{"status":{"seen":2},"spec":{"size":99}}"#,
    r#"{"status":null}"#,
];

fn json_patch(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        r#"[{"op":"add","path":"/metadata/labels","value":{"a":"2"}}]"#,
        r#"[{"op":"remove","path":"/metadata/labels/a"}]"#,
        r#"[{"op":"test","path":"/metadata/labels/a","value":"1"},{"op":"replace","path":"/metadata/labels/a","value":"3"}]"#,
    ])
}

fn object(dice: &mut Dice, kind: &str, name: &str, version: &str) -> String {
    let labels = dice.pick(&["", r#","labels":{"a":"1"}"#, r#","labels":{"a":"2","b":"1"}"#]);
    let finalizers = dice.pick(&["", "", "", r#","finalizers":["example.com/hold"]"#]);
    let version = if version.is_empty() { String::new() } else { format!(r#","resourceVersion":"{version}""#) };
    let content = match kind {
        "configmaps" => dice.pick(&[r#""data":{"x":"1"}"#, r#""data":{"x":"2","y":"1"}"#]),
        _ => dice.pick(&[
            r#""spec":{"size":1}"#,
            r#""spec":{"size":2,"tags":["a","b"]}"#,
            r#""spec":{"size":3,"parts":[{"name":"a"},{"name":"b","weight":2}]}"#,
            r#""spec":{"size":3,"parts":[{"name":"b","weight":3}],"words":{"k":"v"}}"#,
            r#""spec":{"size":-1}"#,
            r#""spec":{"size":"x"}"#,
            r#""spec":{"size":1,"unknown":{"a":1}}"#,
            r#""spec":{"size":13}"#,
        ]),
    };
    format!(r#"{{"metadata":{{"name":"{name}"{labels}{finalizers}{version}}},{content}}}"#)
}
