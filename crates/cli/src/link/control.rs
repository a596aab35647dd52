//! `goodqueue link set`: makes a link different while it runs.
//!
//! The link listens at a socket in a folder of its own, which only its user may enter. A request is one line,
//! a [`Wish`] as JSON; the answer is one line: `ok`, or what is wrong.

use std::fs::{DirBuilder, remove_dir_all};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use goodqueue_experiment::live::link::{Link, Wish};
use goodqueue_experiment::{Error, Plan, Request};

use crate::args::LinkSetArgs;

/// The environment variable with the socket of the link that a program is behind.
pub(super) const SOCKET: &str = "GOODQUEUE_LINK";
/// Begin of the names of folders of sockets; the process id follows.
const FOLDER: &str = "goodqueue-link-";
/// Longest request and answer, bytes.
const LONGEST: u64 = 4096;
/// How long the other end may keep us waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// The listening end.
pub(super) struct Control {
    folder: PathBuf,
    asked: Receiver<(Wish, Sender<String>)>,
}

impl Control {
    /// Listens for requests. Call it after the link's start: it starts a thread.
    pub(super) fn listen() -> Result<Control, Error> {
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
        let failed =
            |error: std::io::Error| Error::Machine(format!("listening in {}: {error}", folder.display()));
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
        Ok(Control { folder, asked })
    }

    /// Where it listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// Does what was asked for; returns what is different now.
    pub(super) fn obey(&self, link: &mut Link) -> Vec<Wish> {
        let mut done = Vec::new();
        for (wish, answer) in self.asked.try_iter() {
            let end = link.change(&wish);
            // Who asked may be gone.
            let _ = answer.send(end.as_ref().map_or_else(Error::to_string, |()| "ok".into()));
            done.extend(end.is_ok().then_some(wish));
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
fn serve(stream: &UnixStream, ask: &Sender<(Wish, Sender<String>)>) -> Option<()> {
    let answer = match read(stream)
        .and_then(|line| serde_json::from_slice(line.as_bytes()).map_err(|e| e.to_string()))
    {
        Ok(wish) => {
            let (tell, told) = channel();
            ask.send((wish, tell)).ok()?;
            told.recv().ok()?
        }
        Err(why) => why,
    };
    // Who asked may be gone.
    let _ = writeln!(&mut &*stream, "{answer}");
    Some(())
}

/// A line, not too long, in time.
fn read(stream: &UnixStream) -> Result<String, String> {
    let mut line = String::new();
    let read = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| BufReader::new(stream.take(LONGEST)).read_line(&mut line));
    read.map_err(|error| error.to_string())?;
    Ok(line.trim_end().to_owned())
}

/// `goodqueue link set`.
///
/// # Errors
/// [`Error::Usage`] for a wrong value or an unknown link.
pub(super) fn set(args: &LinkSetArgs) -> Result<(), Error> {
    let wish = wish(args)?;
    let socket = socket(args.pid)?;
    let failed =
        |error: std::io::Error| Error::Usage(format!("no link answers at {}: {error}", socket.display()));
    let mut stream = UnixStream::connect(&socket).map_err(failed)?;
    let text = serde_json::to_string(&wish).map_err(Error::machine)?;
    writeln!(stream, "{text}").map_err(failed)?;
    match read(&stream).map_err(|why| Error::Machine(format!("{}: {why}", socket.display())))?.as_str() {
        "ok" => Ok(()),
        "" => Err(Error::Machine(format!("{}: the link has ended", socket.display()))),
        why => Err(Error::Usage(why.to_owned())),
    }
}

fn wish(args: &LinkSetArgs) -> Result<Wish, Error> {
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
    let wish = Wish {
        up_bps: given(args.rate.is_some() || args.up.is_some(), link.up_bps),
        down_bps: given(args.rate.is_some() || args.down.is_some(), link.down_bps),
        rtt_ns: link.rtt_ns.first().copied().filter(|_| args.rtt.is_some()),
        loss: args.loss.as_ref().map(|_| link.loss),
    };
    if wish == Wish::default() {
        return Err(Error::Usage("say what to change: --rate, --up, --down, --rtt or --loss".into()));
    }
    Ok(wish)
}

/// The socket of the link that is meant: that with this process id, the one that this program is behind, or
/// the only one.
fn socket(pid: Option<u32>) -> Result<PathBuf, Error> {
    let temp = std::env::temp_dir();
    if let Some(pid) = pid {
        return Ok(temp.join(format!("{FOLDER}{pid}/control")));
    }
    if let Some(path) = std::env::var_os(SOCKET) {
        return Ok(path.into());
    }
    let folders = std::fs::read_dir(&temp).map_err(Error::machine)?.flatten().map(|entry| entry.path());
    let pid = |path: &Path| path.file_name()?.to_str()?.strip_prefix(FOLDER).map(str::to_owned);
    let is_there = |path: &PathBuf| UnixStream::connect(path.join("control")).is_ok();
    let all: Vec<(String, PathBuf)> =
        folders.filter_map(|path| Some((pid(&path)?, path))).filter(|(_, path)| is_there(path)).collect();
    match &all[..] {
        [] => Err(Error::Usage("no link of yours is there; `goodqueue link -- COMMAND` makes one".into())),
        [(_, path)] => Ok(path.join("control")),
        several => {
            let pids: Vec<&str> = several.iter().map(|(pid, _)| pid.as_str()).collect();
            Err(Error::Usage(format!("there are several links; name one with --pid: {}", pids.join(", "))))
        }
    }
}
