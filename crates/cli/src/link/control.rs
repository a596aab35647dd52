//! What a link tells and takes while it runs: `goodqueue link set` makes it different, `goodqueue watch`
//! looks at it.
//!
//! The link listens at a socket in a folder of its own, which only its user may enter. A request is one line:
//! a [`LinkChange`] as JSON, or [`LOOK`]. The answer is one line: `ok`, or what is wrong; or a [`LinkStatus`]
//! as JSON.

use std::fs::{DirBuilder, remove_dir_all};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use goodqueue_experiment::live::link::{Link, LinkChange, LinkSnapshot};
use goodqueue_experiment::{Error, Plan, Request};
use serde::{Deserialize, Serialize};

use crate::args::LinkSetArgs;

/// The environment variable with the socket of the link that a program is behind.
pub(super) const SOCKET: &str = "GOODQUEUE_LINK";
/// Begin of the names of folders of sockets; the process id follows. The first is of links that can be
/// changed.
const FOLDERS: [&str; 2] = ["goodqueue-link-", "goodqueue-shape-"];
/// The request for a report of the link's state.
const LOOK: &str = "look";
/// Longest request, bytes, and longest answer to a change.
const LONGEST: u64 = 4096;
/// Longest answer to who looks, bytes: two directions with all their connections.
const LONGEST_LOOK: u64 = 8 << 20;
/// How long the other end may keep us waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// A link, as it tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkStatus {
    /// The command, and around what: `link curl`, `shape eth0`.
    pub(crate) name: String,
    /// Its interfaces, if it is between some.
    pub(crate) interfaces: Vec<String>,
    /// What passes.
    pub(crate) seen: LinkSnapshot,
}

/// What somebody asks for.
enum Asked {
    Change(LinkChange),
    Look,
}

/// The listening end.
pub(crate) struct Control {
    folder: PathBuf,
    asked: Receiver<(Asked, Sender<String>)>,
    /// Of whom it tells, without what passes.
    own: LinkStatus,
    /// Whether `goodqueue link set` may change it.
    can_change: bool,
}

impl Control {
    /// Listens for requests. Call it after the link's start: it starts a thread.
    /// `name` and `interfaces` are those of [`LinkStatus`].
    pub(crate) fn listen(name: &str, interfaces: &[&str], can_change: bool) -> Result<Control, Error> {
        let begin = if can_change { FOLDERS[0] } else { FOLDERS[1] };
        let folder = std::env::temp_dir().join(format!("{begin}{}", std::process::id()));
        let failed =
            |error: std::io::Error| Error::Machine(format!("listening in {}: {error}", folder.display()));
        clear();
        // What an earlier process of this number may have left.
        let _ = remove_dir_all(&folder);
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let listener = UnixListener::bind(folder.join("control")).map_err(failed)?;
        let (ask, asked) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serve(&stream, &ask).is_none() {
                    return;
                }
            }
        });
        let interfaces = interfaces.iter().map(|&name| name.to_owned()).collect();
        let own = LinkStatus { name: name.to_owned(), interfaces, seen: LinkSnapshot::default() };
        Ok(Control { folder, asked, own, can_change })
    }

    /// [`Control::listen`]; a warning if that is not possible.
    pub(crate) fn offered(name: &str, interfaces: &[&str], can_change: bool) -> Option<Control> {
        Control::listen(name, interfaces, can_change)
            .inspect_err(|why| announce!("goodqueue: warning: `goodqueue watch` cannot show this: {why}"))
            .ok()
    }

    /// Where it listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// Does what was asked for; returns what is different now.
    pub(crate) fn apply(&self, link: &mut Link) -> Vec<LinkChange> {
        let mut done = Vec::new();
        for (asked, answer) in self.asked.try_iter() {
            let said = match asked {
                Asked::Look => {
                    let told = LinkStatus { seen: link.seen(), ..self.own.clone() };
                    serde_json::to_string(&told).unwrap_or_else(|error| error.to_string())
                }
                Asked::Change(_) if !self.can_change => "`goodqueue link set` cannot change a shaper".into(),
                Asked::Change(change) => {
                    let end = link.change(&change);
                    let said = end.as_ref().map_or_else(Error::to_string, |()| "ok".into());
                    done.extend(end.is_ok().then_some(change));
                    said
                }
            };
            // Who asked may be gone.
            let _ = answer.send(said);
        }
        done
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.folder);
    }
}

/// One request; `None` if the link is gone.
fn serve(stream: &UnixStream, ask: &Sender<(Asked, Sender<String>)>) -> Option<()> {
    let answer = match read(stream, LONGEST).and_then(|line| asked(&line)) {
        Ok(asked) => {
            let (tell, told) = channel();
            ask.send((asked, tell)).ok()?;
            told.recv().ok()?
        }
        Err(why) => why,
    };
    // Who asked may be gone.
    let _ = writeln!(&mut &*stream, "{answer}");
    Some(())
}

fn asked(line: &str) -> Result<Asked, String> {
    if line == LOOK {
        return Ok(Asked::Look);
    }
    // The name of an unknown value may have the ends of lines.
    let told = |error: serde_json::Error| error.to_string().replace(char::is_control, " ");
    serde_json::from_slice(line.as_bytes()).map(Asked::Change).map_err(told)
}

/// A line of at most so many bytes, in time.
fn read(stream: &UnixStream, longest: u64) -> Result<String, String> {
    let mut line = String::new();
    let read = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| BufReader::new(stream.take(longest)).read_line(&mut line));
    read.map_err(|error| error.to_string())?;
    Ok(line.trim_end().to_owned())
}

/// `goodqueue link set`.
///
/// # Errors
/// [`Error::Usage`] for a wrong value or an unknown link.
pub(super) fn set(args: &LinkSetArgs) -> Result<(), Error> {
    let change = change_of(args)?;
    let socket = socket(args.pid)?;
    let failed = |error: std::io::Error| {
        let there = running().map_or_else(|error| error.to_string(), |links| names(&links));
        Error::Usage(format!("no link answers at {}: {error}; {there}", socket.display()))
    };
    let mut stream = UnixStream::connect(&socket).map_err(failed)?;
    let text = serde_json::to_string(&change).map_err(Error::machine)?;
    writeln!(stream, "{text}").map_err(failed)?;
    match read(&stream, LONGEST)
        .map_err(|why| Error::Machine(format!("{}: {why}", socket.display())))?
        .as_str()
    {
        "ok" => Ok(()),
        "" => Err(Error::Machine(format!("{}: the link has ended", socket.display()))),
        why => Err(Error::Usage(why.to_owned())),
    }
}

/// The folders of this user's links, with their process ids.
fn folders(begin: &str) -> std::io::Result<Vec<(String, PathBuf)>> {
    let own = std::fs::metadata("/proc/self")?.uid();
    let found = std::fs::read_dir(std::env::temp_dir())?.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.strip_prefix(begin)?.to_owned();
        let is_own = entry.metadata().is_ok_and(|folder| folder.is_dir() && folder.uid() == own);
        is_own.then(|| (pid, entry.path()))
    });
    Ok(found.collect())
}

/// Removes the folders that this user's killed links have left: the process is gone, and nobody listens at
/// the socket. Each alone could be a link that is just starting, or one of another container.
fn clear() {
    for (pid, folder) in FOLDERS.iter().flat_map(|begin| folders(begin).unwrap_or_default()) {
        let is_refused = UnixStream::connect(folder.join("control"))
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        if is_refused && !Path::new("/proc").join(pid).exists() {
            let _ = remove_dir_all(folder);
        }
    }
}

/// What this user's links tell of themselves, with their process ids. One that does not answer is left out.
pub(crate) fn look() -> Vec<(String, LinkStatus)> {
    let told = |(pid, path): (String, PathBuf)| {
        let mut stream = UnixStream::connect(path.join("control")).ok()?;
        writeln!(stream, "{LOOK}").ok()?;
        let line = read(&stream, LONGEST_LOOK).ok()?;
        Some((pid, serde_json::from_slice(line.as_bytes()).ok()?))
    };
    let mut all: Vec<(String, LinkStatus)> =
        FOLDERS.iter().flat_map(|begin| folders(begin).unwrap_or_default()).filter_map(told).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The change that these arguments ask for.
///
/// # Errors
/// [`Error::Usage`] for a wrong value, or if nothing is asked for.
pub(super) fn change_of(args: &LinkSetArgs) -> Result<LinkChange, Error> {
    let request = Request {
        test: "ping".into(),
        live: true,
        rate: args.rate.clone(),
        up: args.up.clone(),
        down: args.down.clone(),
        rtt: args.rtt.clone(),
        loss: args.loss.clone().unwrap_or_else(|| "0%".into()),
        ..Request::default()
    };
    let link = Plan::resolve(&request)?.link;
    let given = |is_given: bool, value: u64| is_given.then_some(value);
    let change = LinkChange {
        up_bps: given(args.rate.is_some() || args.up.is_some(), link.up_bps),
        down_bps: given(args.rate.is_some() || args.down.is_some(), link.down_bps),
        rtt_ns: link.rtt_ns.first().copied().filter(|_| args.rtt.is_some()),
        loss: args.loss.as_ref().map(|_| link.loss),
    };
    if change == LinkChange::default() {
        return Err(Error::Usage("say what to change: --rate, --up, --down, --rtt or --loss".into()));
    }
    Ok(change)
}

/// The socket of the link that is meant: that with this process id, the one that this program is behind, or
/// the only one.
fn socket(pid: Option<u32>) -> Result<PathBuf, Error> {
    let temp = std::env::temp_dir();
    if let Some(pid) = pid {
        return Ok(temp.join(format!("{}{pid}/control", FOLDERS[0])));
    }
    if let Some(path) = std::env::var_os(SOCKET) {
        return Ok(path.into());
    }
    match &running().map_err(Error::machine)?[..] {
        [(_, path)] => Ok(path.join("control")),
        links => Err(Error::Usage(names(links))),
    }
}

/// The folders of this user's links that answer, with their process ids.
fn running() -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut all = folders(FOLDERS[0])?;
    all.retain(|(_, path)| UnixStream::connect(path.join("control")).is_ok());
    Ok(all)
}

/// Which links may be meant.
fn names(links: &[(String, PathBuf)]) -> String {
    let pids: Vec<&str> = links.iter().map(|(pid, _)| pid.as_str()).collect();
    match &pids[..] {
        [] => "you have no running link; `goodqueue link -- COMMAND` starts one".into(),
        [pid] => format!("your running link is --pid {pid}"),
        several => format!("there are several links; name one with --pid: {}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Shutdown;

    /// The answer to a request when the link is gone; `None` if it was for the link.
    fn answer(request: &[u8]) -> Option<String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(request).unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        let (ask, _) = channel();
        serve(&ours, &ask)?;
        drop(ours);
        let mut bytes = Vec::new();
        // What the link has not read of a long request resets the connection, behind the answer.
        let _ = theirs.read_to_end(&mut bytes);
        Some(String::from_utf8(bytes).unwrap())
    }

    fn is_one_line(text: &str) -> bool {
        text.len() > 1 && text.find('\n') == Some(text.len() - 1)
    }

    proptest! {
        #[test]
        fn a_request_that_is_none_has_one_line_as_its_answer(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            name in "\\PC{0,3}[\n\r\\PC]{0,8}",
        ) {
            if let Some(text) = answer(&bytes) {
                prop_assert!(is_one_line(&text), "{:?}", text);
            }
            let unknown = serde_json::json!({ name.as_str(): 1 }).to_string();
            if let Some(text) = answer(unknown.as_bytes()) {
                prop_assert!(is_one_line(&text), "{:?}", text);
            }
        }

        #[test]
        fn a_change_is_read_as_it_was_written(
            up in any::<Option<u64>>(),
            rtt in any::<Option<u64>>(),
            loss in proptest::option::of(0_u32..=100),
        ) {
            let loss = loss.map(|percent| f64::from(percent) / 100.0);
            let change = LinkChange { up_bps: up, down_bps: None, rtt_ns: rtt, loss };
            let text = serde_json::to_string(&change).unwrap();
            prop_assert!(matches!(asked(&text), Ok(Asked::Change(read)) if read == change), "{}", text);
            prop_assert_eq!(answer(text.as_bytes()), None, "it is for the link");
        }
    }

    #[test]
    fn a_request_that_is_too_long_is_refused() {
        let long = format!("{{\"loss\":0.{}}}\n", "0".repeat(5000));
        assert!(answer(long.as_bytes()).is_some_and(|text| is_one_line(&text)));
        assert_eq!(answer(b"look\n"), None);
    }
}
