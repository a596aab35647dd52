//! Rows as Apache Parquet, and back.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use goodqueue_experiment::{Axis, AxisValue, Error, Quantity, Sweep};
use goodqueue_report::compare::FIGURES;
use goodqueue_report::parquet_column as column;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;

use crate::row::Row;
use crate::unit::UnitHash;

/// Rows of a group.
const GROUP: usize = 1 << 10;

/// The columns, in order: those that identify the run, an axis each, and a figure each.
fn schema(sweep: &Sweep) -> String {
    let mut text = String::from(
        "message sweep { required binary hash (STRING); required int64 point (INTEGER(64,false)); \
         required binary queue (STRING); required int64 seed (INTEGER(64,false)); required boolean fresh; \
         optional binary why (STRING); ",
    );
    for axis in &sweep.axes {
        let column = axis_column(axis);
        match axis.quantity {
            Quantity::Words => text += &format!("required binary {column} (STRING); "),
            _ => text += &format!("required double {column}; "),
        }
    }
    for (name, _) in figure_columns() {
        text += &format!("optional double {name}; ");
    }
    text + "}"
}

/// The column of an axis: its name, and the unit of its numbers.
pub(crate) fn axis_column(axis: &Axis) -> String {
    let unit = match axis.quantity {
        Quantity::Time => "_ms",
        Quantity::Rate => "_bps",
        Quantity::Bytes => "_bytes",
        Quantity::Percent => "_percent",
        Quantity::Number | Quantity::Count | Quantity::Words => "",
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    format!("{}{unit}", axis.name.chars().map(plain).collect::<String>())
}

/// Columns that a file cannot have because two things have the same name; `None` if all differ.
pub(crate) fn twice(sweep: &Sweep) -> Option<String> {
    let fixed = ["hash", "point", "queue", "seed", "fresh", "why"].map(str::to_owned);
    let mut seen: Vec<String> = fixed.into_iter().chain(figure_columns().map(|(name, _)| name)).collect();
    for axis in &sweep.axes {
        let column = axis_column(axis);
        if seen.contains(&column) {
            return Some(column);
        }
        seen.push(column);
    }
    None
}

/// The number of an axis in its column's unit.
pub(crate) fn axis_number(axis: &Axis, value: &AxisValue) -> f64 {
    let number = value.number.unwrap_or(f64::NAN);
    if axis.quantity == Quantity::Time { number / 1e6 } else { number }
}

/// The columns of the figures, each with the factor from the figure's unit.
fn figure_columns() -> impl Iterator<Item = (String, f64)> {
    FIGURES.iter().map(|figure| match figure.unit {
        "Mbit/s" => (format!("{}_bps", figure.name), 1e6),
        "%" => (format!("{}_percent", figure.name), 1.0),
        "" => (figure.name.to_owned(), 1.0),
        unit => (format!("{}_{unit}", figure.name), 1.0),
    })
}

/// Writes the file of these rows. The same rows give the same bytes. `values` has the values of a point.
pub(crate) fn encode(
    sweep: &Sweep,
    mut rows: impl Iterator<Item = std::result::Result<Row, Error>>,
    values: &dyn Fn(u64) -> Vec<AxisValue>,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("goodqueue {}", env!("CARGO_PKG_VERSION")))
        .build();
    let schema = Arc::new(parse_message_type(&schema(sweep))?);
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    // Group by group, so that memory does not grow with the number of rows.
    loop {
        let group = rows.by_ref().take(GROUP).collect::<std::result::Result<Vec<Row>, Error>>();
        let group = group.map_err(|error| ParquetError::External(error.into()))?;
        if group.is_empty() {
            return writer.close().map(|_| ());
        }
        write(&mut writer, sweep, &group, values)?;
    }
}

/// Writes a group of rows.
fn write(
    writer: &mut SerializedFileWriter<&mut (dyn Write + Send)>,
    sweep: &Sweep,
    rows: &[Row],
    values: &dyn Fn(u64) -> Vec<AxisValue>,
) -> Result<()> {
    let mut group = writer.next_row_group()?;
    let texts = |of: &dyn Fn(&Row) -> String| -> Vec<ByteArray> {
        rows.iter().map(|row| ByteArray::from(of(row).into_bytes())).collect()
    };
    column::<ByteArrayType, _>(&mut group, &texts(&|row| row.hash.to_string()), None)?;
    column::<Int64Type, _>(&mut group, &numbers(rows, |row| row.point.cast_signed()), None)?;
    column::<ByteArrayType, _>(&mut group, &texts(&|row| row.queue.to_string()), None)?;
    column::<Int64Type, _>(&mut group, &numbers(rows, |row| row.seed.cast_signed()), None)?;
    column::<BoolType, _>(&mut group, &numbers(rows, |row| row.is_fresh), None)?;
    let whys: Vec<ByteArray> = rows
        .iter()
        .filter_map(|row| row.why.as_deref())
        .map(|why| ByteArray::from(why.as_bytes().to_vec()))
        .collect();
    let levels = numbers(rows, |row| i16::from(row.why.is_some()));
    column::<ByteArrayType, _>(&mut group, &whys, Some(&levels))?;
    let points: Vec<Vec<AxisValue>> = rows.iter().map(|row| values(row.point)).collect();
    for (number, axis) in sweep.axes.iter().enumerate() {
        let of_axis = points.iter().filter_map(|point| point.get(number));
        if axis.quantity == Quantity::Words {
            let words: Vec<ByteArray> = of_axis.map(|value| ByteArray::from(value.words.as_str())).collect();
            column::<ByteArrayType, _>(&mut group, &words, None)?;
        } else {
            let words: Vec<f64> = of_axis.map(|value| axis_number(axis, value)).collect();
            column::<DoubleType, _>(&mut group, &words, None)?;
        }
    }
    for (number, (_, factor)) in figure_columns().enumerate() {
        let levels = numbers(rows, |row| i16::from(row.figures[number].is_finite()));
        let present = rows.iter().map(|row| row.figures[number]).filter(|value| value.is_finite());
        let present: Vec<f64> = present.map(|value| scaled(value, factor)).collect();
        column::<DoubleType, _>(&mut group, &present, Some(&levels))?;
    }
    group.close().map(|_| ())
}

/// A rate is a whole number of bits per second, before and after.
fn scaled(value: f64, factor: f64) -> f64 {
    if factor > 1.0 { (value * factor).round() } else { value }
}

fn numbers<T>(rows: &[Row], of: impl Fn(&Row) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

/// The rows of a file. What is not a column of a row is left out, so files of another grid can be read.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<Vec<Row>> {
    let reader = SerializedFileReader::new(Bytes::from(bytes))?;
    let figures: HashMap<String, (usize, f64)> =
        figure_columns().enumerate().map(|(number, (name, factor))| (name, (number, factor))).collect();
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    let mut rows = Vec::new();
    for found in reader.get_row_iter(None)? {
        let mut row = Row {
            hash: UnitHash(0),
            point: 0,
            seed: 0,
            is_fresh: false,
            queue: Arc::from(""),
            figures: [f64::NAN; FIGURES.len()],
            why: None,
        };
        for (name, field) in found?.get_column_iter() {
            match (name.as_str(), field) {
                ("hash", Field::Str(text)) => {
                    row.hash = UnitHash(u128::from_str_radix(text, 16).unwrap_or(0));
                }
                ("point", Field::ULong(number)) => row.point = *number,
                ("seed", Field::ULong(number)) => row.seed = *number,
                ("fresh", Field::Bool(is_fresh)) => row.is_fresh = *is_fresh,
                ("queue", Field::Str(text)) => {
                    row.queue = Arc::clone(names.entry(text.clone()).or_insert_with(|| text.as_str().into()));
                }
                ("why", Field::Str(text)) => row.why = Some(text.as_str().into()),
                (name, Field::Double(value)) => {
                    if let Some(&(number, factor)) = figures.get(name) {
                        row.figures[number] = value / factor;
                    }
                }
                _ => {}
            }
        }
        rows.push(row);
    }
    Ok(rows)
}
