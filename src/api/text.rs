//! What users write as text, such as `1h30m`: objects hold what `Display` writes and `FromStr` reads.

/// Implements serde and the schema of a type by its text: a string that matches a pattern and is not longer than this.
macro_rules! as_text {
    ($type:ident, $pattern:expr, $longest:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern, "maxLength": $longest})
            }

            fn inline_schema() -> bool {
                true
            }
        }
    };
}

pub(super) use as_text;
