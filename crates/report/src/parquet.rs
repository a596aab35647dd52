//! The table of [`crate::data`] as Apache Parquet: dictionary strings, Snappy compression. The same record
//! gives the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::Record;
use crate::data::{self, Row};
use crate::summary::direction_name;

/// The columns, as [`data::COLUMNS`].
const SCHEMA: &str = "message goodqueue {
    required int64 run;
    required binary queue (STRING);
    required int64 seed (INTEGER(64,false));
    required binary kind (STRING);
    required binary series (STRING);
    optional binary direction (STRING);
    optional double t_s;
    required binary metric (STRING);
    optional double value;
    required binary unit (STRING);
}";

/// Rows to hold before they are written.
const GROUP: usize = 1 << 17;

type Writer = SerializedFileWriter<Vec<u8>>;

/// The file.
pub(crate) fn encode(record: &Record) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("goodqueue {}", env!("CARGO_PKG_VERSION")))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let (mut group, mut end) = (Group::default(), Ok(()));
    data::each(record, &mut |row| {
        group.push(row);
        if end.is_ok() && group.run.len() >= GROUP {
            end = std::mem::take(&mut group).write(&mut writer);
        }
    });
    end?;
    group.write(&mut writer)?;
    writer.into_inner()
}

/// A group of rows, column by column. An optional column has the present values and a definition level for
/// each row: 1 for a value, 0 for none.
#[derive(Default)]
struct Group {
    words: BTreeMap<String, ByteArray>,
    run: Vec<i64>,
    queue: Vec<ByteArray>,
    seed: Vec<i64>,
    kind: Vec<ByteArray>,
    series: Vec<ByteArray>,
    direction: (Vec<ByteArray>, Vec<i16>),
    t_s: (Vec<f64>, Vec<i16>),
    metric: Vec<ByteArray>,
    value: (Vec<f64>, Vec<i16>),
    unit: Vec<ByteArray>,
}

impl Group {
    fn push(&mut self, row: &Row<'_>) {
        self.run.push(i64::from(row.run));
        self.seed.push(row.seed.cast_signed());
        for (column, word) in [
            (&mut self.queue, row.queue),
            (&mut self.kind, row.kind),
            (&mut self.series, &row.series),
            (&mut self.metric, row.metric),
            (&mut self.unit, row.unit),
        ] {
            column.push(word_of(&mut self.words, word));
        }
        let direction = row.direction.map(|d| word_of(&mut self.words, direction_name(d)));
        optional(&mut self.direction, direction);
        optional(&mut self.t_s, row.t_ns.map(|ns| ns as f64 / 1e9));
        optional(&mut self.value, row.value);
    }

    fn write(self, writer: &mut Writer) -> Result<()> {
        let mut group = writer.next_row_group()?;
        column::<Int64Type, _>(&mut group, &self.run, None)?;
        column::<ByteArrayType, _>(&mut group, &self.queue, None)?;
        column::<Int64Type, _>(&mut group, &self.seed, None)?;
        column::<ByteArrayType, _>(&mut group, &self.kind, None)?;
        column::<ByteArrayType, _>(&mut group, &self.series, None)?;
        column::<ByteArrayType, _>(&mut group, &self.direction.0, Some(&self.direction.1))?;
        column::<DoubleType, _>(&mut group, &self.t_s.0, Some(&self.t_s.1))?;
        column::<ByteArrayType, _>(&mut group, &self.metric, None)?;
        column::<DoubleType, _>(&mut group, &self.value.0, Some(&self.value.1))?;
        column::<ByteArrayType, _>(&mut group, &self.unit, None)?;
        group.close().map(|_| ())
    }
}

fn optional<T>((values, levels): &mut (Vec<T>, Vec<i16>), value: Option<T>) {
    levels.push(i16::from(value.is_some()));
    values.extend(value);
}

/// The string, stored only once.
fn word_of(words: &mut BTreeMap<String, ByteArray>, word: &str) -> ByteArray {
    if let Some(known) = words.get(word) {
        return known.clone();
    }
    let new = ByteArray::from(word);
    words.insert(word.to_owned(), new.clone());
    new
}

/// Writes the next column of a group of rows. `levels`: 1 for each row that has a value, 0 for the others;
/// `None` where all have one.
///
/// # Errors
/// The writer's.
pub fn column<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    // There is a writer for each column of the schema, so there is always a next one.
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    Ok(())
}
