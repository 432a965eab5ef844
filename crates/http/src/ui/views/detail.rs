//! What is asked for in detail (RFC 9396), as a person reads it.

use serde_json::{Map, Value};

/// One of the requested authorization details.
pub(crate) struct DetailEntry {
    /// Its `type`.
    pub(crate) type_name: String,
    /// All that it says beside the type.
    pub(crate) members: Vec<DetailMember>,
}

/// A member of a detail.
pub(crate) struct DetailMember {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl DetailEntry {
    /// What the object says, nothing left out.
    pub(crate) fn of(detail: &Map<String, Value>) -> Self {
        let beside = detail.iter().filter(|(name, _)| *name != "type");
        Self {
            type_name: detail.get("type").map(readable).unwrap_or_default(),
            members: beside
                .map(|(name, value)| DetailMember { name: name.clone(), value: readable(value) })
                .collect(),
        }
    }
}

/// Text without quotes, a list of words with commas; anything else as the JSON that it is, on several lines.
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if !values.is_empty() && values.iter().all(Value::is_string) => {
            values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        value => serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_detail_is_told_with_all_its_members() {
        let detail = json!({"type": "payment", "actions": ["initiate", "cancel"], "to": "Bob", "days": [],
                            "instructedAmount": {"currency": "EUR", "amount": 123.5}, "now": null});
        let entry = DetailEntry::of(detail.as_object().unwrap());
        assert_eq!(entry.type_name, "payment");
        let mut told: Vec<_> =
            entry.members.iter().map(|own| (own.name.as_str(), own.value.as_str())).collect();
        told.sort_unstable();
        let amount = "{\n  \"amount\": 123.5,\n  \"currency\": \"EUR\"\n}";
        let expected = [
            ("actions", "initiate, cancel"),
            ("days", "[]"),
            ("instructedAmount", amount),
            ("now", "null"),
            ("to", "Bob"),
        ];
        assert_eq!(told, expected);
    }
}
