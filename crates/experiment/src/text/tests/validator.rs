//! As much of a JSON schema validator as our schema needs, with the meaning of draft 2020-12.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// Why `value` does not fit `schema`, part of `root`; patterns are not checked.
pub(super) fn misfit(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").expect("a definition of the schema's own");
        let definition = root["$defs"].get(name).unwrap_or_else(|| panic!("{name} is not defined"));
        return misfit(root, definition, value);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let misfits: Vec<String> = choices.iter().filter_map(|choice| misfit(root, choice, value)).collect();
        return (misfits.len() == choices.len()).then(|| misfits.join("; or "));
    }
    if let Some(constant) = schema.get("const") {
        return (constant != value).then(|| format!("{value} is not {constant}"));
    }
    match schema["type"].as_str() {
        Some("string") => (!value.is_string()).then(|| format!("{value} is no string")),
        Some("boolean") => (!value.is_boolean()).then(|| format!("{value} is no boolean")),
        Some("integer") if !value.is_u64() && !value.is_i64() => Some(format!("{value} is no integer")),
        Some("integer" | "number") => out_of_range(schema, value),
        Some("array") => elements(root, schema, value),
        Some("object") => fields(root, schema, value),
        other => panic!("a schema of type {other:?}"),
    }
}

fn out_of_range(schema: &Value, value: &Value) -> Option<String> {
    let Some(number) = value.as_f64() else { return Some(format!("{value} is no number")) };
    let low = schema["minimum"].as_f64().is_some_and(|least| number < least);
    let high = schema["maximum"].as_f64().is_some_and(|most| number > most);
    (low || high).then(|| format!("{value} is out of range"))
}

fn elements(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let Some(list) = value.as_array() else { return Some(format!("{value} is no array")) };
    let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
    if bound("minItems").is_some_and(|least| list.len() < least)
        || bound("maxItems").is_some_and(|most| list.len() > most)
    {
        return Some(format!("{value} has a wrong length"));
    }
    list.iter().enumerate().find_map(|(index, element)| {
        let own = schema["prefixItems"].get(index).unwrap_or(&schema["items"]);
        misfit(root, own, element)
    })
}

fn fields(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let Some(object) = value.as_object() else { return Some(format!("{value} is no object")) };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.into_iter().find(|&name| !object.contains_key(name)) {
        return Some(format!("{missing} is missing"));
    }
    object.iter().find_map(|(name, value)| match schema["properties"].get(name) {
        Some(property) => misfit(root, property, value),
        None if schema["additionalProperties"] == Value::Bool(false) => Some(format!("{name} is not known")),
        None => misfit(root, &schema["additionalProperties"], value),
    })
}

/// A TOML document as the JSON that editors check.
pub(super) fn json(table: &DeTable<'_>) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().clone().into_owned(), of(value.get_ref()))).collect()
}

fn of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => Value::from(number.as_str().parse::<i64>().expect("a number")),
        DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().expect("a number")),
        DeValue::Boolean(is) => Value::Bool(*is),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(list) => list.iter().map(|element| of(element.get_ref())).collect(),
        DeValue::Table(table) => json(table),
    }
}
