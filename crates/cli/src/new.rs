//! `goodqueue new`: a user-defined queue or congestion control to begin with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use goodqueue_experiment::Error;
use goodqueue_report::room;

use crate::args::{Example, Language, NewArgs, NewCcArgs, NewQueueArgs};
use crate::output::print;

/// Files of a template: their names and texts, with `@NAME@` for the name.
type Files = &'static [(&'static str, &'static str)];

const C: Files = &[
    ("@NAME@.c", include_str!("../templates/queue.c")),
    ("goodqueue_own.h", goodqueue_own::HEADER),
    ("Makefile", include_str!("../templates/Makefile")),
    ("README.md", include_str!("../templates/README-c.md")),
];

const RUST: Files = &[
    ("src/lib.rs", include_str!("../templates/queue.rs")),
    ("Cargo.toml", include_str!("../templates/Cargo.toml.txt")),
    ("Makefile", include_str!("../templates/Makefile-rust")),
    ("README.md", include_str!("../templates/README-rust.md")),
];

const PYTHON: Files = &[
    ("@NAME@.py", include_str!("../templates/queue.py")),
    ("test_@NAME@.py", include_str!("../templates/test_queue.py")),
    ("README.md", include_str!("../templates/README-python.md")),
];

type CcFiles<const N: usize> = [(&'static str, &'static str); N];

const fn cc(text: &'static str) -> CcFiles<4> {
    [
        ("@NAME@.c", text),
        ("goodqueue_own.h", goodqueue_own::HEADER),
        ("Makefile", include_str!("../templates/Makefile-cc")),
        ("README.md", include_str!("../templates/README-cc.md")),
    ]
}

const fn cc_rust(text: &'static str) -> CcFiles<4> {
    [
        ("src/lib.rs", text),
        ("Cargo.toml", include_str!("../templates/Cargo.toml.txt")),
        ("Makefile", include_str!("../templates/Makefile-cc-rust")),
        ("README.md", include_str!("../templates/README-cc.md")),
    ]
}

const fn cc_python(text: &'static str) -> CcFiles<3> {
    [
        ("@NAME@.py", text),
        ("test_@NAME@.py", include_str!("../templates/test_cc.py")),
        ("README.md", include_str!("../templates/README-cc-python.md")),
    ]
}

const AIMD: CcFiles<4> = cc(include_str!("../templates/aimd.c"));
const AIMD_RUST: CcFiles<4> = cc_rust(include_str!("../templates/aimd.rs"));
const AIMD_PYTHON: CcFiles<3> = cc_python(include_str!("../templates/aimd.py"));
const VEGAS: CcFiles<4> = cc(include_str!("../templates/vegas.c"));
const VEGAS_RUST: CcFiles<4> = cc_rust(include_str!("../templates/vegas.rs"));
const VEGAS_PYTHON: CcFiles<3> = cc_python(include_str!("../templates/vegas.py"));
const LEDBAT: CcFiles<4> = cc(include_str!("../templates/ledbat.c"));
const LEDBAT_RUST: CcFiles<4> = cc_rust(include_str!("../templates/ledbat.rs"));
const LEDBAT_PYTHON: CcFiles<3> = cc_python(include_str!("../templates/ledbat.py"));

/// Writes a template into a new folder.
///
/// # Errors
/// [`Error::Usage`] if the name is none, or there is something of this name; [`Error::Machine`] if a file
/// cannot be written. Then there is no folder.
pub fn command(args: &NewArgs) -> Result<(), Error> {
    match args {
        NewArgs::Queue(NewQueueArgs { name, lang, source }) => {
            let files = match lang {
                Language::C => C,
                Language::Rust => RUST,
                Language::Python => PYTHON,
            };
            write("queue", name, files, *lang, source.as_deref())
        }
        NewArgs::Cc(NewCcArgs { name, lang, like, source }) => {
            let files: Files = match (lang, like) {
                (Language::C, Example::Aimd) => &AIMD,
                (Language::C, Example::Vegas) => &VEGAS,
                (Language::C, Example::Ledbat) => &LEDBAT,
                (Language::Rust, Example::Aimd) => &AIMD_RUST,
                (Language::Rust, Example::Vegas) => &VEGAS_RUST,
                (Language::Rust, Example::Ledbat) => &LEDBAT_RUST,
                (Language::Python, Example::Aimd) => &AIMD_PYTHON,
                (Language::Python, Example::Vegas) => &VEGAS_PYTHON,
                (Language::Python, Example::Ledbat) => &LEDBAT_PYTHON,
            };
            write("cc", name, files, *lang, source.as_deref())
        }
    }
}

/// Writes the files of a template into the folder `name`.
fn write(kind: &str, name: &str, files: Files, lang: Language, source: Option<&Path>) -> Result<(), Error> {
    let next = match lang {
        Language::C | Language::Rust => format!("make -C {name} check"),
        Language::Python => format!("cd {name} && python {name}.py"),
    };
    let source = (lang == Language::Rust).then(|| source_folder(source)).transpose()?;
    if !is_name(name) {
        return Err(Error::Usage(format!(
            "new {kind} {name}: a name starts with a small letter and contains only small letters, digits \
             and _, as in my_aqm"
        )));
    }
    let text = |text: &str| {
        let named = text.replace("@NAME@", name);
        match &source {
            Some(folder) => named.replace("@SOURCE@", &folder.display().to_string()),
            None => named,
        }
    };
    let folder = Path::new(name);
    fs::create_dir(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Usage(format!(
            "new {kind} {name}: something with this name exists here; nothing was changed"
        )),
        _ => Error::Machine(format!("new {kind} {name}: {error}{}", room(folder, &error))),
    })?;
    let written: io::Result<()> = files.iter().try_for_each(|(file, template)| {
        let file = folder.join(text(file));
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, text(template))
    });
    if let Err(error) = written {
        // It was made here, a moment ago.
        let _ = fs::remove_dir_all(folder);
        return Err(Error::Machine(format!("new {kind} {name}: {error}{}", room(folder, &error))));
    }
    let list: String = files.iter().map(|(file, _)| format!("  {name}/{}\n", text(file))).collect();
    print(&format!("{list}Next: {next}\n"))
}

/// Whether C, Rust and Python all take this as a name.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !["core", "std", "alloc", "test", "goodqueue", "goodqueue_own"].contains(&name)
}

/// The folder of this program's source.
fn source_folder(given: Option<&Path>) -> Result<PathBuf, Error> {
    let is_it = |folder: &Path| folder.join("crates/own/Cargo.toml").is_file();
    let here = std::env::current_dir().map_err(Error::machine)?;
    match given {
        Some(folder) if is_it(folder) => std::path::absolute(folder).map_err(Error::machine),
        Some(folder) => Err(Error::Usage(format!(
            "--source {}: this is not the folder of Goodqueue's source, which has crates/own",
            folder.display()
        ))),
        None => here.ancestors().find(|folder| is_it(folder)).map(Path::to_owned).ok_or_else(|| {
            Error::Usage("new --lang rust: name the folder of Goodqueue's source with --source DIR".into())
        }),
    }
}
