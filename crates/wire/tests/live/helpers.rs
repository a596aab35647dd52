//! Parts of the tests that must run in another process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use goodqueue_wire::{Lab, LabSpec, die_with_parent, enter_user_namespace};

use crate::net::{engine, lab, open_path, ping_pong, udp_pair};

pub(crate) fn run(name: &str, rest: &[String]) -> ExitCode {
    match name {
        "unprivileged" => unprivileged(),
        "hold" => hold(),
        "orphan" => orphan(rest),
        "no-rights" => no_rights(),
        _ => ExitCode::from(2),
    }
}

/// A lab of an unprivileged user: user namespace, lab, engine, a few round trips.
fn unprivileged() -> ExitCode {
    if let Err(error) = enter_user_namespace() {
        eprintln!("{error}");
        return ExitCode::from(if error.is_missing() { 3 } else { 1 });
    }
    let lab = match lab(&LabSpec::default()) {
        Ok(lab) => lab,
        Err(right) => {
            eprintln!("{right}");
            return ExitCode::from(3);
        }
    };
    let engine = engine(&lab, open_path(), open_path());
    for v6 in [false, true] {
        let (client, server) = udp_pair(&lab, v6);
        let median = ping_pong(&client, &server, 64, 100);
        println!("unprivileged, v6 {v6}: median round trip {median:?}");
    }
    let report = engine.stop().unwrap();
    println!("unprivileged: {:?}, {:?}, {:?}", report.scheduling, report.last.lateness, report.validity());
    ExitCode::SUCCESS
}

/// Tries to create a lab without any capabilities.
fn no_rights() -> ExitCode {
    // struct __user_cap_header_struct, version 3, this process; two empty __user_cap_data_struct.
    let (header, none) = ([0x2008_0522_u32, 0], [0_u32; 6]);
    // SAFETY: both point to live structures of that version's layout.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(done, 0);
    match Lab::new(&LabSpec::default()) {
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if error.is_missing() { 3 } else { 1 })
        }
        Ok(_) => ExitCode::SUCCESS,
    }
}

/// Holds a lab with a running engine until it is killed.
fn hold() -> ExitCode {
    let lab = lab(&LabSpec::default()).unwrap();
    let engine = engine(&lab, open_path(), open_path());
    let (client, server) = udp_pair(&lab, false);
    ping_pong(&client, &server, 64, 10);
    assert!(engine.is_running());
    // TCP at full speed: the kernel must not keep the namespaces because of its last segments.
    let address = (Lab::server_address(false, 0), 0);
    let listener = lab.server().run(|| TcpListener::bind(address)).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let mut sender = lab.client().run(|| TcpStream::connect(to)).unwrap().unwrap();
    std::thread::spawn(move || while sender.write(&[0; 1 << 14]).is_ok() {});
    let mut receiver = listener.accept().unwrap().0;
    std::thread::spawn(move || while receiver.read(&mut [0; 1 << 14]).is_ok() {});
    std::thread::sleep(Duration::from_millis(200));
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}

/// Dies with its parent, whose process id is the argument; otherwise it would live for a minute.
fn orphan(rest: &[String]) -> ExitCode {
    let parent = rest.first().and_then(|word| word.parse().ok()).unwrap_or(0);
    if let Err(error) = die_with_parent(parent) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
    std::thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}
