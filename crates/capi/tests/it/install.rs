//! `install`, and the page's program compiled as the page says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::docs::{blocks, page};
use crate::tools::{self, C99, CPP17, has, run};

/// A new, empty folder.
fn fresh(name: &str) -> PathBuf {
    let folder = tools::scratch(name);
    std::fs::remove_dir_all(&folder).expect("a folder of the tests");
    tools::scratch(name)
}

/// Runs `install PREFIX BUILT` with a private cache of the dynamic linker for the folders in `searched`.
fn install(folder: &Path, prefix: &Path, searched: &str) -> Output {
    let (conf, cache) = (folder.join("ld.so.conf"), folder.join("ld.so.cache"));
    std::fs::write(&conf, searched).expect("a file");
    let ldconfig = format!("ldconfig -f {} -C {}", conf.display(), cache.display());
    let mut command = Command::new(tools::folder().join("install"));
    run(command.arg(prefix).arg(tools::library()).env("LDCONFIG", ldconfig).env_remove("DESTDIR"))
}

/// The output of pkg-config for the library below a prefix.
fn flags(prefix: &Path, words: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(words).arg("goodqueue");
    let text = String::from_utf8(run(&mut command).stdout).expect("text");
    text.split_whitespace().map(str::to_owned).collect()
}

/// The page's first program, in a file.
fn first(folder: &Path) -> PathBuf {
    let source = folder.join("program.c");
    std::fs::write(&source, blocks(&page())[0]).expect("a file");
    source
}

fn has_all(test: &str) -> bool {
    has(test, C99.compiler) && has(test, "pkg-config")
}

#[test]
fn a_prefix_of_ones_own_is_found_by_pkg_config_path() {
    if !has_all("a_prefix_of_ones_own_is_found_by_pkg_config_path") {
        return;
    }
    let folder = fresh("own-prefix");
    let prefix = folder.join("prefix");
    let said = install(&folder, &prefix, "/nonexistent\n").stdout;
    let said = String::from_utf8(said).expect("text");
    // The test follows the printed instructions.
    let line = said.lines().find_map(|line| line.trim().strip_prefix("export ")).expect("what to set");
    let set: Vec<(&str, &str)> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
    assert_eq!(set.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["PKG_CONFIG_PATH", "LD_LIBRARY_PATH"]);
    assert!(page().contains(
        "export PKG_CONFIG_PATH=$HOME/goodqueue/lib/pkgconfig LD_LIBRARY_PATH=$HOME/goodqueue/lib"
    ));
    let source = first(&folder);
    let mut shell = Command::new("sh");
    shell.current_dir(&folder).envs(set);
    shell.args(["-ec", "cc program.c $(pkg-config --cflags --libs goodqueue) -o program && ./program"]);
    assert_eq!(run(&mut shell).stdout, b"send frame 42\n", "{}", source.display());
    assert!(page().contains("cc program.c $(pkg-config --cflags --libs goodqueue) -o program && ./program"));
    assert_eq!(flags(&prefix, &["--modversion"]), [env!("CARGO_PKG_VERSION")]);
}

/// If the dynamic linker searches the folder, `install` updates its cache.
#[test]
fn install_tells_the_dynamic_linker() {
    let folder = fresh("ldconfig");
    let prefix = folder.join("prefix");
    if !Path::new("/usr/sbin/ldconfig").exists() && !Path::new("/sbin/ldconfig").exists() {
        return tools::skipped("install_tells_the_dynamic_linker", "ldconfig is not installed");
    }
    std::fs::create_dir_all(prefix.join("lib")).expect("a folder");
    let searched = format!("{}\n", prefix.join("lib").display());
    assert_eq!(String::from_utf8_lossy(&install(&folder, &prefix, &searched).stdout), "");
    let mut show = Command::new("sh");
    show.args(["-c", "PATH=$PATH:/usr/sbin:/sbin; ldconfig -p -C \"$0\""]).arg(folder.join("ld.so.cache"));
    let cache = String::from_utf8(run(&mut show).stdout).expect("text");
    let library = prefix.join("lib/libgoodqueue.so.1");
    let is_there =
        |line: &str| line.contains("libgoodqueue.so.1") && line.ends_with(&*library.to_string_lossy());
    assert!(cache.lines().any(is_there), "{cache}");
    // The linker may search the folder by another name, as /usr/lib by /lib.
    let other = folder.join("other");
    std::os::unix::fs::symlink(&prefix, &other).expect("a link");
    assert_eq!(String::from_utf8_lossy(&install(&folder, &other, &searched).stdout), "");
}

#[test]
fn the_static_library_is_linked_as_pkg_config_says() {
    if !has_all("the_static_library_is_linked_as_pkg_config_says") {
        return;
    }
    let folder = fresh("static");
    let prefix = folder.join("prefix");
    install(&folder, &prefix, "/nonexistent\n");
    let source = first(&folder);
    let program = folder.join("program");
    let mut command = Command::new(C99.compiler);
    command.args(["-static", "-Werror"]).arg(&source);
    command.args(flags(&prefix, &["--static", "--cflags", "--libs"])).arg("-o").arg(&program);
    run(&mut command);
    assert_eq!(run(&mut Command::new(&program)).stdout, b"send frame 42\n");
    let needed = run(Command::new("readelf").arg("-d").arg(&program));
    assert!(!String::from_utf8_lossy(&needed.stdout).contains("NEEDED"), "it is static");
    assert!(
        page().contains("cc -static program.c $(pkg-config --static --cflags --libs goodqueue) -o program")
    );
}

/// Every warning is an error, for a program without feature macros and for one in C++.
#[test]
fn the_header_and_the_first_program_are_clean() {
    let test = "the_header_and_the_first_program_are_clean";
    if !has(test, C99.compiler) || !has(test, CPP17.compiler) {
        return;
    }
    let folder = fresh("clean");
    let (source, object) = (first(&folder), folder.join("object.o"));
    let mut command = Command::new(C99.compiler);
    command.args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-c"]);
    command.arg("-I").arg(tools::folder().join("include")).arg(&source).arg("-o").arg(&object);
    run(&mut command);
    let alone = folder.join("alone.cpp");
    std::fs::write(&alone, "#include <goodqueue.h>\nint main() { return 0; }\n").expect("a file");
    let mut command = Command::new(CPP17.compiler);
    command.args([
        "-std=c++17",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Wold-style-cast",
        "-Werror",
        "-c",
    ]);
    command.arg("-I").arg(tools::folder().join("include")).arg(&alone).arg("-o").arg(&object);
    run(&mut command);
}

#[test]
fn a_package_is_made_below_destdir() {
    let folder = fresh("destdir");
    let mut command = Command::new(tools::folder().join("install"));
    run(command.arg("/usr").arg(tools::library()).env("DESTDIR", &folder));
    let text = std::fs::read_to_string(folder.join("usr/lib/pkgconfig/goodqueue.pc")).expect("a file");
    assert!(text.starts_with("prefix=/usr\n"), "{text}");
    for file in ["include/goodqueue.h", "lib/libgoodqueue.a", "lib/libgoodqueue.so.1", "lib/libgoodqueue.so"]
    {
        assert!(folder.join("usr").join(file).exists(), "{file}");
    }
}

/// Everybody can read what root installs with a strict umask.
#[test]
fn everybody_can_read_the_installed_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = fresh("umask");
    let mut command = Command::new("sh");
    command.args(["-ec", "umask 077; exec \"$0\" \"$@\""]).arg(tools::folder().join("install"));
    run(command.arg("/usr").arg(tools::library()).env("DESTDIR", &folder));
    for (name, mode) in [("lib/pkgconfig/goodqueue.pc", 0o644), ("lib/pkgconfig", 0o755), ("include", 0o755)]
    {
        let found = std::fs::metadata(folder.join("usr").join(name)).expect("it is there").permissions();
        assert_eq!(found.mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn failures_of_install_are_reported() {
    let install = tools::folder().join("install");
    let mut command = Command::new(&install);
    let output = command.arg("/tmp/two words").arg(tools::library()).output().expect("the script");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    for (words, code, said) in
        [(&["/nonexistent/prefix", "/nonexistent"][..], 1, "libgoodqueue.a is missing"), (&[], 2, "usage:")]
    {
        let output = Command::new(&install).args(words).output().expect("the script");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(said), "{text}");
    }
    let mut command = Command::new(&install);
    let output = command.arg("/proc/nowhere").arg(tools::library()).output().expect("the script");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_shared_library_shows_the_header_and_nothing_else() {
    let test = "the_shared_library_shows_the_header_and_nothing_else";
    if !has(test, "nm") {
        return;
    }
    let names =
        run(Command::new("nm").args(["-D", "--defined-only"]).arg(tools::library().join("libgoodqueue.so")));
    let names = String::from_utf8(names.stdout).expect("text");
    let names: Vec<&str> = names.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert!(names.contains(&"gq_enqueue"), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("gq_")), "{names:?}");
}
