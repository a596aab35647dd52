//! The JSON schema of experiment files, for editors: made from the catalogue of keys.

use serde_json::{Map, Value, json};

use super::keys::{Key, Kind, ROOT, TABLES, Table};

/// The JSON schema (draft 2020-12).
#[must_use]
pub fn schema() -> Value {
    let definitions: Map<String, Value> =
        TABLES[1..].iter().map(|table| (definition(table), object(table))).collect();
    let mut schema = object(&ROOT);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Goodqueue experiment");
    schema["$defs"] = Value::Object(definitions);
    schema
}

/// Name of a table's definition. Several tables have the same name as written.
fn definition(table: &Table) -> String {
    let is_same = |other: &&&Table| std::ptr::eq(**other, table);
    let earlier = TABLES.iter().take_while(|other| !is_same(other)).filter(|other| other.name == table.name);
    match earlier.count() {
        0 => table.name.into(),
        number => format!("{}{}", table.name, number + 1),
    }
}

fn object(table: &Table) -> Value {
    let properties: Map<String, Value> =
        table.all_keys().map(|key| (key.name.into(), property(key))).collect();
    let required: Vec<&str> =
        table.all_keys().filter(|key| key.default == "required").map(|key| key.name).collect();
    let mut object = json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn property(key: &Key) -> Value {
    let mut value = value(key.kind);
    let default =
        if key.default == "required" { String::new() } else { format!(" (default: {})", key.default) };
    value["description"] = json!(format!("{}{default}", key.doc));
    value
}

fn value(kind: Kind) -> Value {
    let units =
        |pattern: &str, shown: &str| json!({"type": "string", "pattern": pattern, "examples": [shown]});
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Count { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Time { .. } => {
            units("^[0-9]+(\\.[0-9]+)? *([nN]|[uU]|[mM])?([sS]|[sS][eE][cC]|[mM]|[mM][iI][nN]|[hH])$", "20ms")
        }
        Kind::Rate => units("^[0-9]+(\\.[0-9]+)? *([kKmMgG][iI]?)?([bB][iI][tT]|[bB][pP][sS])$", "20mbit"),
        Kind::LineShare => units("^[0-9]*\\.?[0-9]+ *%$", "90%"),
        Kind::Bytes => json!({"anyOf": [
            {"type": "integer", "minimum": 0},
            units("^[0-9]+(\\.[0-9]+)? *([kKmMgG]?[bB]?)$", "64k"),
        ]}),
        Kind::Share => json!({"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            units("^[0-9]*\\.?[0-9]+ *%?$", "0.1%"),
        ]}),
        Kind::Number { least, most } => json!({"type": "number", "minimum": least, "maximum": most}),
        Kind::Word(word) => json!({"const": word}),
        Kind::List(element) => json!({"type": "array", "items": value(*element)}),
        Kind::Pair([first, second]) => {
            json!({"type": "array", "prefixItems": [value(*first), value(*second)], "minItems": 2, "maxItems": 2})
        }
        Kind::Table(table) => reference(table),
        Kind::Tables(table) => json!({"type": "array", "items": reference(table)}),
        Kind::Named(table) => json!({"type": "object", "additionalProperties": reference(table)}),
        Kind::OneOf(kinds) => json!({"anyOf": kinds.iter().map(|&kind| value(kind)).collect::<Vec<_>>()}),
    }
}

fn reference(table: &Table) -> Value {
    json!({"$ref": format!("#/$defs/{}", definition(table))})
}
