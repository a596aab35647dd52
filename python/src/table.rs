//! A table: columns in Arrow's layout, handed over without a copy through Arrow's `PyCapsule` interface.

use std::sync::Arc;

use arrow_array::builder::{
    Float64Builder, Int64Builder, StringBuilder, StringDictionaryBuilder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// Rows that a notebook shows.
const SHOWN: usize = 20;

/// A table of named columns. pandas, polars, pyarrow, DuckDB and others read it without a copy of the
/// columns, through Arrow's PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)`.
///
/// `table["t_s"]` is a column as a list, with None for a missing value.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Table(RecordBatch);

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Table {
        let fields = columns.iter().map(|column| {
            Field::new(column.name, column.values.data_type().clone(), column.values.null_count() > 0)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = columns.into_iter().map(|column| column.values).collect();
        // All columns come from the same rows.
        Table(RecordBatch::try_new(schema, arrays).expect("columns of one length"))
    }
}

#[pymethods]
impl Table {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// A column as a list, with None for a missing value.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(column) = self.0.column_by_name(name) else {
            let names = self.column_names();
            let near = goodqueue_experiment::did_you_mean(name, &names);
            return Err(PyKeyError::new_err(format!(
                "no column {name}; there are {}{near}",
                names.join(", ")
            )));
        };
        list(py, column)
    }

    /// All columns as lists, by name.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.0.schema().fields().iter().zip(self.0.columns()) {
            dict.set_item(field.name(), list(py, column)?)?;
        }
        Ok(dict)
    }

    /// A pandas.DataFrame on the same memory, with columns of Arrow's types (`double[pyarrow]`). It needs
    /// pandas and pyarrow.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let table = Table::to_pyarrow(slf)?;
        let options = PyDict::new(py);
        options.set_item("types_mapper", import(py, "pandas")?.getattr("ArrowDtype")?)?;
        table.call_method("to_pandas", (), Some(&options))
    }

    /// A polars.DataFrame on the same memory. It needs polars.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A pyarrow.Table on the same memory. It needs pyarrow.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// Arrow's C schema, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Arrow's C stream, in a capsule. It shares the table's memory. Another schema is not tried: the reader
    /// casts.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The first rows, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        let cells = |tag: &str, words: &[String]| {
            let cells = words.iter().map(|word| format!("<{tag}>{}</{tag}>", escape(word)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let shown = self.0.slice(0, self.0.num_rows().min(SHOWN));
        let columns = shown.columns().iter().map(|column| list(py, column));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        let row = |at: usize| {
            let word = |column: &Bound<'_, PyList>| {
                let value = column.get_item(at)?;
                Ok(if value.is_none() { String::new() } else { value.to_string() })
            };
            Ok(cells("td", &columns.iter().map(word).collect::<PyResult<Vec<_>>>()?))
        };
        let rows = (0..shown.num_rows()).map(row).collect::<PyResult<String>>()?;
        let head = cells("th", &self.column_names());
        let more = match self.0.num_rows() {
            all if all > SHOWN => format!("<p>{SHOWN} of {all} rows</p>"),
            _ => String::new(),
        };
        Ok(format!("<table><thead>{head}</thead><tbody>{rows}</tbody></table>{more}"))
    }

    fn __repr__(&self) -> String {
        let fields = self.0.schema();
        let columns = fields.fields().iter().map(|field| {
            let kind = match field.data_type() {
                DataType::Float64 => "double",
                DataType::Int64 => "int64",
                DataType::UInt64 => "uint64",
                _ => "string",
            };
            format!("{}: {kind}", field.name())
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        format!("<goodqueue.Table of {} rows: {columns}>", self.0.num_rows())
    }
}

fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|cause| {
        let words = format!("this needs {name}, which is not installed: pip install {name}");
        let error = pyo3::exceptions::PyImportError::new_err(words);
        error.set_cause(py, Some(cause));
        error
    })
}

fn list<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match column.data_type() {
        DataType::Float64 => PyList::new(py, column.as_primitive::<Float64Type>()),
        DataType::Int64 => PyList::new(py, column.as_primitive::<Int64Type>()),
        DataType::UInt64 => PyList::new(py, column.as_primitive::<UInt64Type>()),
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>()),
        _ => {
            let words = column.as_dictionary::<Int32Type>();
            let values = words.values().as_string::<i32>();
            let word = |key: Option<usize>| key.map(|key| values.value(key));
            PyList::new(py, words.keys_iter().map(word).collect::<Vec<_>>())
        }
    }
}

/// A column with its name.
pub(crate) struct Column {
    name: &'static str,
    values: ArrayRef,
}

impl Column {
    /// Numbers.
    pub(crate) fn numbers(name: &'static str, values: impl IntoIterator<Item = Option<f64>>) -> Column {
        let mut builder = Float64Builder::new();
        values.into_iter().for_each(|value| builder.append_option(value));
        Column { name, values: Arc::new(builder.finish()) }
    }

    /// Whole numbers.
    pub(crate) fn whole(name: &'static str, values: impl IntoIterator<Item = Option<i64>>) -> Column {
        let mut builder = Int64Builder::new();
        values.into_iter().for_each(|value| builder.append_option(value));
        Column { name, values: Arc::new(builder.finish()) }
    }

    /// Seeds: whole numbers of 64 bits.
    pub(crate) fn seeds(name: &'static str, values: impl IntoIterator<Item = u64>) -> Column {
        let mut builder = UInt64Builder::new();
        values.into_iter().for_each(|value| builder.append_value(value));
        Column { name, values: Arc::new(builder.finish()) }
    }

    /// Texts that differ from row to row.
    pub(crate) fn texts<S: AsRef<str>>(
        name: &'static str,
        values: impl IntoIterator<Item = Option<S>>,
    ) -> Column {
        let mut builder = StringBuilder::new();
        values.into_iter().for_each(|value| builder.append_option(value));
        Column { name, values: Arc::new(builder.finish()) }
    }
}

/// A column of numbers that is filled row by row.
#[derive(Default)]
pub(crate) struct Numbers(Float64Builder);

impl Numbers {
    pub(crate) fn push(&mut self, value: Option<f64>) {
        self.0.append_option(value);
    }

    pub(crate) fn column(mut self, name: &'static str) -> Column {
        Column { name, values: Arc::new(self.0.finish()) }
    }
}

/// A column of whole numbers that is filled row by row.
#[derive(Default)]
pub(crate) struct Whole(Int64Builder);

impl Whole {
    pub(crate) fn push(&mut self, value: Option<i64>) {
        self.0.append_option(value);
    }

    pub(crate) fn column(mut self, name: &'static str) -> Column {
        Column { name, values: Arc::new(self.0.finish()) }
    }
}

/// A column of words that come again and again, each kept once (Arrow's dictionary, a category of pandas).
#[derive(Default)]
pub(crate) struct Words(StringDictionaryBuilder<Int32Type>);

impl Words {
    pub(crate) fn push(&mut self, word: Option<&str>) {
        self.0.append_option(word);
    }

    pub(crate) fn column(mut self, name: &'static str) -> Column {
        Column { name, values: Arc::new(self.0.finish()) }
    }
}
