//! Circles of files. An arrow goes from a file to the file whose item it names, in a `use` or in a path, and
//! re-exports are followed. What a module takes from a module around it is no arrow, nor is what only tests
//! take.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::sources;

/// A module by the names from its crate's root.
type Module = Vec<String>;

/// A path that a file names, from the crate's root.
struct Taken {
    path: Module,
    /// The name that a `use` gives it in the file.
    name: Option<String>,
    is_reexport: bool,
}

/// The file's own code, without comments and without its tests.
fn code(text: &str) -> String {
    let tests = ["#[cfg(test)]\nmod tests {", "#[cfg(all(test, feature = \"alloc\"))]\nmod tests {"];
    let text = tests.iter().fold(text, |text, tests| text.split(tests).next().unwrap_or(text));
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The paths of a use tree such as `a::{b, c::{self, d as e}}`, with the names that they get.
fn flatten(prefix: &[&str], tree: &str, out: &mut Vec<(Module, String)>) {
    let tree = tree.trim();
    if let Some((head, list)) = tree.split_once('{') {
        let mut prefix = prefix.to_vec();
        prefix.extend(head.split("::").map(str::trim).filter(|part| !part.is_empty()));
        let list = list.trim_end().strip_suffix('}').unwrap_or(list);
        let (mut depth, mut start) = (0, 0);
        for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !list[start..at].trim().is_empty() {
                        flatten(&prefix, &list[start..at], out);
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let parts = prefix.iter().copied().chain(path.split("::").map(str::trim));
    let mut path: Module = parts.filter(|part| !part.is_empty()).map(String::from).collect();
    path.pop_if(|last| last == "self");
    let name = if alias.is_empty() { path.last().cloned().unwrap_or_default() } else { alias.trim().into() };
    out.push((path, name));
}

/// A path as written in `module`, from the crate's root; `None`: not of this crate.
fn absolute(module: &Module, path: &Module, modules: &BTreeMap<Module, String>) -> Option<Module> {
    let above = path.iter().take_while(|part| *part == "super").count();
    let around = |up: usize| module[..module.len().saturating_sub(up)].to_vec();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module.clone(), path[1..].to_vec()].concat()),
        "super" => Some([around(above), path[above..].to_vec()].concat()),
        first => {
            let child = [module.clone(), vec![first.to_owned()]].concat();
            modules.contains_key(&child).then(|| [module.clone(), path.clone()].concat())
        }
    }
}

/// All names that a file takes from its crate.
fn taken(module: &Module, modules: &BTreeMap<Module, String>) -> Vec<Taken> {
    let mut found = Vec::new();
    let mut rest = String::new();
    for statement in code(&modules[module]).split_inclusive([';', '{', '}']) {
        rest.push_str(statement);
        let line = rest.rsplit('\n').find(|line| !line.trim().is_empty()).unwrap_or("").trim();
        let whole = rest.trim_end();
        let begin = whole.rfind("\nuse ").or_else(|| whole.rfind("use "));
        if let (true, Some(begin), true) = (whole.ends_with(';'), begin, !line.is_empty()) {
            let statement = &whole[begin..];
            let tree = statement.trim_start().trim_start_matches("use ").trim_end_matches(';');
            let balanced = tree.matches('{').count() == tree.matches('}').count();
            let is_path = tree.chars().all(|c| c.is_alphanumeric() || "_:{}, *\n".contains(c));
            if balanced && is_path {
                let before = whole[..begin].rsplit('\n').next().unwrap_or("");
                let mut paths = Vec::new();
                flatten(&[], tree, &mut paths);
                for (path, name) in paths {
                    let path = absolute(module, &path, modules);
                    let (name, is_reexport) = (Some(name), before.contains("pub"));
                    found.extend(path.map(|path| Taken { path, name, is_reexport }));
                }
                rest.truncate(begin);
            }
        }
    }
    for word in rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        let path: Module = word.split("::").filter(|part| !part.is_empty()).map(String::from).collect();
        if path.len() > 1 {
            let path = absolute(module, &path, modules);
            found.extend(path.map(|path| Taken { path, name: None, is_reexport: false }));
        }
    }
    found
}

/// The file of an item: that of the longest module of its path, or where a re-export leads.
fn home(
    path: &Module,
    modules: &BTreeMap<Module, String>,
    names: &BTreeMap<Module, BTreeMap<String, Module>>,
    depth: u32,
) -> Module {
    let length = (0..=path.len()).rev().find(|&length| modules.contains_key(&path[..length].to_vec()));
    let module = path[..length.unwrap_or(0)].to_vec();
    let next = path.get(module.len()).and_then(|item| names.get(&module)?.get(item));
    match next {
        Some(next) if depth > 0 && next[..] != path[..module.len() + 1] => {
            home(&[next.clone(), path[module.len() + 1..].to_vec()].concat(), modules, names, depth - 1)
        }
        _ => module,
    }
}

/// The arrows between the files of a crate.
fn arrows(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let taken: BTreeMap<&Module, Vec<Taken>> =
        modules.keys().map(|module| (module, taken(module, modules))).collect();
    let names = taken.iter().map(|(module, taken)| {
        let named = taken.iter().filter_map(|taken| Some((taken.name.clone()?, taken.path.clone())));
        ((*module).clone(), named.collect::<BTreeMap<_, _>>())
    });
    let names: BTreeMap<Module, BTreeMap<String, Module>> = names.collect();
    let arrows = taken.iter().map(|(&module, taken)| {
        let used = taken.iter().filter(|taken| !taken.is_reexport);
        let homes = used.map(|taken| home(&taken.path, modules, &names, 8));
        (module.clone(), homes.filter(|home| !module.starts_with(home)).collect())
    });
    arrows.collect()
}

/// All that can be reached from a file.
fn reach(from: &Module, arrows: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(next) = open.pop() {
        let new = arrows[&next].iter().filter(|to| seen.insert((*to).clone())).cloned();
        open.extend(new.collect::<Vec<_>>());
    }
    seen
}

/// The circles of a crate's files.
fn circles(modules: &BTreeMap<Module, String>) -> BTreeSet<BTreeSet<String>> {
    let arrows = arrows(modules);
    let reach: BTreeMap<&Module, BTreeSet<Module>> =
        modules.keys().map(|module| (module, self::reach(module, &arrows))).collect();
    let circle = |one: &Module| {
        let back = reach[one].iter().filter(|other| reach[other].contains(one));
        back.map(|module| module.join("/")).collect::<BTreeSet<String>>()
    };
    modules.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

/// The modules of each crate with their texts.
fn crates() -> BTreeMap<String, BTreeMap<Module, String>> {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for (name, text) in sources() {
        let Some((krate, file)) = name.trim_start_matches("crates/").split_once("/src/") else { continue };
        let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let is_test = path.ends_with("tests") || path.contains("tests/");
        if !is_test && path != "main" {
            let module = if path == "lib" { Vec::new() } else { path.split('/').map(String::from).collect() };
            crates.entry(krate.to_owned()).or_default().insert(module, text);
        }
    }
    crates
}

#[test]
fn no_circle_of_files_is_wider_than_two() {
    let mut found = Vec::new();
    for (krate, modules) in crates() {
        let wide = circles(&modules).into_iter().filter(|circle| circle.len() > 2);
        found.extend(wide.map(|circle| format!("crates/{krate}: {circle:?}")));
    }
    assert!(found.is_empty(), "circles of files:\n{}", found.join("\n"));
}

/// Two files that name each other's items are a circle; one reached through a re-export counts as well; a
/// child that takes from the module around it does not.
#[test]
fn a_circle_is_found_through_uses_paths_and_re_exports() {
    let module =
        |name: &str| name.split('/').filter(|part| !part.is_empty()).map(String::from).collect::<Module>();
    let modules = |texts: &[(&str, &str)]| {
        texts.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let open = modules(&[
        ("", "mod a;\nmod b;\n"),
        ("a", "mod inner;\npub(crate) use inner::Deep;\nuse crate::b::{self, B as C};\npub struct A;\n"),
        ("a/inner", "use super::A;\npub struct Deep;\n"),
        ("b", "pub struct B;\n"),
    ]);
    assert!(circles(&open).is_empty(), "{:?}", circles(&open));
    let mut closed = open.clone();
    closed.insert(module("b"), "fn f() -> crate::a::Deep {}\npub struct B;\n".into());
    assert!(circles(&closed).is_empty(), "b takes from a/inner, which takes from none");
    closed.insert(module("a/inner"), "use crate::b::B;\npub struct Deep;\n".into());
    let two = BTreeSet::from(["a/inner".to_owned(), "b".to_owned()]);
    assert_eq!(circles(&closed), BTreeSet::from([two]));
}
