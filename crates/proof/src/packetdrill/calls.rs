//! System calls, answered by the model's sockets.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::{Host, Sending, Socket, SocketError, State};

use super::cookies;
use super::link::Link;
use super::notices;
use super::script::{Call, Expr, has_word, number};
use super::sockets::{Answer, Descriptor, Kind, NO_COOKIE, Sockets};
use super::support;

use Answer::{Blocks, Error, Lacks, Value};

/// The largest `SO_RCVLOWAT` that fits any receive buffer without making it larger, bytes.
const LARGEST_LOWAT: i64 = 32_768;

/// The largest `SO_SNDBUF` and `SO_RCVBUF`, bytes (Linux `sysctl_wmem_max`, since 6.17).
const LARGEST_BUFFER: u32 = 4 << 20;
/// The smallest `sk_rcvbuf`; that of `sk_sndbuf` is twice that (Linux `TCP_SKB_MIN_TRUESIZE`).
const SOCK_MIN_RCVBUF: u32 = 2304;

/// `mss_cache` of a socket without a connection (Linux `TCP_MSS_DEFAULT`).
const TCP_MSS_DEFAULT: u16 = 536;

/// The flag by its number.
const MSG_FASTOPEN: i64 = 0x2000_0000;

impl Sockets {
    /// Makes a call. `host` are the settings of new sockets. `waited`: an earlier attempt of the same call
    /// waits since so long.
    pub(super) fn call(&mut self, now: Nanos, call: &Call, host: &Host, waited: Option<Span>) -> Answer {
        let started = waited.is_some();
        if !started {
            self.progress = 0;
        }
        let args = &call.args;
        let fd = || args.first().and_then(number);
        match call.name.as_str() {
            "socket" => return self.open(call, host),
            "poll" => return self.poll(call, waited),
            "epoll_create" | "epoll_create1" => return self.epoll_create(call),
            "epoll_ctl" => return self.epoll_ctl(call),
            "epoll_wait" => return self.epoll_wait(call, waited),
            "open" => return self.open_file(call),
            _ => {}
        }
        let Some(fd) = fd() else { return Lacks(format!("the arguments of {}()", call.name)) };
        if call.name == "close" && (self.epolls.remove(&fd).is_some() || self.files.remove(&fd)) {
            return Value(0);
        }
        if !self.descriptors.contains_key(&fd) {
            return Error("EBADF");
        }
        let moves_data =
            ["read", "recv", "recvfrom", "write", "send", "sendto"].contains(&call.name.as_str());
        if moves_data && args.get(1).is_some_and(|buffer| has_word(buffer, "NULL")) {
            return Error("EFAULT");
        }
        match call.name.as_str() {
            "bind" => Value(0),
            "listen" => self.listen(fd, args.get(1).and_then(number).unwrap_or(1)),
            "accept" => self.accept(fd, call),
            "connect" if args.get(1).is_some_and(|to| has_word(to, "AF_UNSPEC")) => self.disconnect(fd),
            "connect" => self.connect(now, fd, started),
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.read(now, fd, call),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.write(now, fd, call, waited),
            "sendfile" => self.send_file(now, fd, call),
            "close" => self.close(now, fd),
            "shutdown" => self.shutdown(fd, args.get(1)),
            "fcntl" => self.fcntl(fd, args),
            "ioctl" => self.ioctl(now, fd, args),
            "setsockopt" => self.set_option(now, fd, args),
            "getsockopt" => self.get_option(fd, args),
            name => Lacks(format!("the call {name}()")),
        }
    }

    fn open(&mut self, call: &Call, host: &Host) -> Answer {
        // The script names the descriptor that it expects.
        let Some(fd) = number(&call.result) else { return Value(3) };
        if fd < 0 {
            return Lacks("a socket that cannot be opened".to_owned());
        }
        let is_nonblocking = call.args.iter().any(|arg| has_word(arg, "SOCK_NONBLOCK"));
        let descriptor = Descriptor {
            kind: Kind::Fresh,
            host: *host,
            is_nonblocking,
            resets: false,
            tells_inq: false,
            zero_copy: false,
            is_corked: false,
            notsent_lowat: 0,
            delays_acks: false,
            fast_connect: false,
            is_deferred: false,
            no_cookie: false,
            rcvlowat: 1,
            is_reported: false,
            backlog: 0,
            listening: 0,
        };
        self.descriptors.insert(fd, descriptor);
        Value(fd)
    }

    fn listen(&mut self, fd: i64, backlog: i64) -> Answer {
        let Some(descriptor) = self.descriptors.get_mut(&fd) else { return Error("EBADF") };
        if matches!(descriptor.kind, Kind::Connected(_)) {
            return Error("EINVAL");
        }
        descriptor.kind = Kind::Listening;
        self.listens += 1;
        descriptor.listening = self.listens;
        descriptor.backlog = usize::try_from(backlog).unwrap_or(0);
        let fast_open = &mut descriptor.host.fast_open;
        if fast_open.mode & 0x402 == 0x402 && fast_open.queue == 0 {
            fast_open.queue = u32::try_from(backlog).unwrap_or(0);
        }
        Value(0)
    }

    fn accept(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(listening) = self.descriptors.get(&fd).cloned() else { return Error("EBADF") };
        if !matches!(listening.kind, Kind::Listening) {
            return Error("EINVAL");
        }
        let ready = self.links.iter().position(|link| {
            let state = link.socket.state();
            let is_up = (state != State::SynRecv || link.socket.is_fast_open())
                && !(state == State::Close && link.socket.window().is_none());
            link.listener == Some(fd) && !link.is_accepted && is_up
        });
        let Some(number) = ready else {
            return if listening.is_nonblocking { Error("EAGAIN") } else { Blocks };
        };
        let Some(new) = super::script::number(&call.result).filter(|&new| new >= 0) else { return Value(0) };
        self.links[number].is_accepted = true;
        self.links[number].socket.is_given = true;
        self.current = Some(number);
        let kind = Kind::Connected(number);
        let is_nonblocking = call.args.iter().any(|arg| has_word(arg, "SOCK_NONBLOCK"));
        self.links[number].socket.notsent_lowat = listening.lowat();
        self.links[number].socket.set_cork(listening.is_corked);
        self.descriptors.insert(new, Descriptor { kind, is_nonblocking, is_reported: true, ..listening });
        Value(new)
    }

    fn connect(&mut self, now: Nanos, fd: i64, started: bool) -> Answer {
        let Some(descriptor) = self.descriptors.get_mut(&fd) else { return Error("EBADF") };
        match descriptor.kind {
            Kind::Listening => return Error("EISCONN"),
            Kind::Fresh if descriptor.is_deferred => return Error("EISCONN"),
            Kind::Fresh if descriptor.fast_connect => {
                let is_nonblocking = descriptor.is_nonblocking;
                if self.defer_connect(fd) {
                    if let Some(descriptor) = self.descriptors.get_mut(&fd) {
                        descriptor.is_deferred = true;
                    }
                    return Value(0);
                }
                let begun = self.connect_fast(now, fd, 0, Sending::default());
                return match begun {
                    Some(_) if is_nonblocking => Error("EINPROGRESS"),
                    Some(_) => Blocks,
                    None => Error("EBADF"),
                };
            }
            Kind::Fresh => {
                let mut socket = Socket::connect(&descriptor.host, now);
                descriptor.hand_on(&mut socket);
                self.links.push(Link::new(socket, None, self.listens));
                descriptor.kind = Kind::Connected(self.links.len() - 1);
                self.current = Some(self.links.len() - 1);
                return if descriptor.is_nonblocking { Error("EINPROGRESS") } else { Blocks };
            }
            Kind::Connected(_) => {}
        }
        let (is_nonblocking, was_reported) = (descriptor.is_nonblocking, descriptor.is_reported);
        let Some(link) = self.link(fd) else { return Error("EBADF") };
        let answer = match link.socket.state() {
            State::SynSent | State::SynRecv if started => Blocks,
            State::SynSent | State::SynRecv if is_nonblocking => Error("EALREADY"),
            State::SynSent | State::SynRecv => Blocks,
            State::Close => error(link.socket.error()).map_or(Error("ECONNABORTED"), Error),
            _ if was_reported && !started => Error("EISCONN"),
            _ => Value(0),
        };
        if let (Value(_), Some(descriptor)) = (&answer, self.descriptors.get_mut(&fd)) {
            descriptor.is_reported = true;
        }
        answer
    }

    /// `connect` to no address: the connection is reset, and the socket is as new.
    fn disconnect(&mut self, fd: i64) -> Answer {
        if let Some(link) = self.link(fd) {
            link.socket.abort();
        }
        self.set_kind(fd, Kind::Fresh);
        Value(0)
    }

    fn read(&mut self, now: Nanos, fd: i64, call: &Call) -> Answer {
        let Some(descriptor) = self.descriptors.get(&fd).cloned() else { return Error("EBADF") };
        let waits = !descriptor.is_nonblocking && !call.args.iter().any(|arg| has_word(arg, "MSG_DONTWAIT"));
        if call.args.iter().any(|arg| has_word(arg, "MSG_ERRQUEUE")) {
            return self.read_notice(fd, call);
        }
        let Some(parts) = sizes(call) else { return Lacks(format!("the arguments of {}()", call.name)) };
        let most: u64 = parts.iter().sum();
        let has = |flag: &str| call.args.iter().any(|arg| has_word(arg, flag));
        let (is_peek, wants_all) = (has("MSG_PEEK"), has("MSG_WAITALL"));
        if self.is_deferred(fd) {
            return if waits { Blocks } else { Error("EAGAIN") };
        }
        let Some(link) = self.link(fd) else { return Error("ENOTCONN") };
        let socket = &mut link.socket;
        let is_end = socket.is_read_shut() || matches!(socket.state(), State::TimeWait);
        let least = if wants_all { most } else { most.min(descriptor.rcvlowat) };
        if waits && !is_end && (1..least).contains(&socket.readable()) {
            return Blocks;
        }
        let bytes = if is_peek { socket.readable().min(most) } else { socket.read(now, most) };
        if bytes == 0 && most > 0 {
            return match socket.state() {
                _ if is_end && socket.error().is_none() => Value(0),
                State::Close => socket.take_error().and_then(|why| error(Some(why))).map_or(Value(0), Error),
                _ if waits => Blocks,
                _ => Error("EAGAIN"),
            };
        }
        if let Some(expected) = control_data(call) {
            let left = socket.readable();
            let left = if left == 0 && socket.is_finished() { 1 } else { left };
            if !descriptor.tells_inq || Some(left) != expected {
                let actual = if descriptor.tells_inq { format!("TCP_CM_INQ {left}") } else { String::new() };
                return Answer::Wrote(format!("cmsg_data={}", expected.unwrap_or(0)), actual);
            }
        }
        Value(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    fn write(&mut self, now: Nanos, fd: i64, call: &Call, waited: Option<Span>) -> Answer {
        let Some(parts) = sizes(call) else { return Lacks(format!("the arguments of {}()", call.name)) };
        let place = if call.name == "sendmsg" { 2 } else { 3 };
        let flags = call.args.get(place).filter(|_| !call.name.starts_with("write"));
        let number = flags.and_then(number).unwrap_or(0);
        let has = |flag: &str| {
            let is_bit = flag == "MSG_FASTOPEN" && number & MSG_FASTOPEN != 0;
            is_bit || flags.is_some_and(|flags| has_word(flags, flag))
        };
        let how = Sending {
            more: has("MSG_MORE"),
            end_of_record: has("MSG_EOR"),
            zero_copy: has("MSG_ZEROCOPY"),
            is_resumed: false,
        };
        let is_impatient = has("MSG_DONTWAIT");
        let is_fresh = matches!(self.kind(fd), Some(Kind::Fresh));
        let no_address = || call.args.get(4).is_some_and(|to| has_word(to, "AF_UNSPEC"));
        match (has("MSG_FASTOPEN"), is_fresh) {
            (true, true) if no_address() => Error("EOPNOTSUPP"),
            (is_fast, true) if is_fast || self.is_deferred(fd) => {
                let Some(descriptor) = self.descriptors.get(&fd) else { return Error("EBADF") };
                let is_patient = !descriptor.is_nonblocking && !is_impatient;
                let how = Sending { zero_copy: how.zero_copy && descriptor.zero_copy, ..how };
                self.send_fast(now, fd, parts.iter().sum(), how, is_patient)
            }
            (true, false) if waited.is_none() => match self.link(fd).map(|link| link.socket.state()) {
                Some(State::SynSent) => Error("EALREADY"),
                // The first call after the handshake finds it complete (Linux `__inet_stream_connect`).
                _ if !self.is_reported(fd) => self.send(now, fd, &parts, how, is_impatient),
                _ => Error("EISCONN"),
            },
            _ => self.send(now, fd, &parts, how, is_impatient),
        }
    }

    /// Writes the elements of `parts`, in bytes.
    fn send(&mut self, now: Nanos, fd: i64, parts: &[u64], how: Sending, is_impatient: bool) -> Answer {
        let Some(descriptor) = self.descriptors.get(&fd).cloned() else { return Error("EBADF") };
        let is_patient = !descriptor.is_nonblocking && !is_impatient;
        let progress = self.progress;
        let Some(link) = self.link(fd) else { return Error("EPIPE") };
        let socket = &mut link.socket;
        match socket.state() {
            State::Established | State::CloseWait => {}
            State::SynRecv if socket.is_fast_open() => {}
            State::SynSent | State::SynRecv if !is_patient => return Error("EAGAIN"),
            State::SynSent | State::SynRecv => {
                socket.has_writer = progress < parts.iter().sum();
                return Blocks;
            }
            State::Close => {
                let why = socket.take_error();
                return error(why).map_or(Error("EPIPE"), Error);
            }
            _ => return Error("EPIPE"),
        }
        let wanted: u64 = parts.iter().sum();
        if progress == wanted && wanted > 0 {
            return Value(i64::try_from(wanted).unwrap_or(i64::MAX));
        }
        if is_patient && progress > 0 && socket.lacks_space() {
            return Blocks;
        }
        let zero_copy = how.zero_copy && descriptor.zero_copy;
        let how = Sending { zero_copy, is_resumed: progress > 0, ..how };
        let left = if how.zero_copy { behind(parts, progress) } else { vec![wanted - progress] };
        let written = progress + socket.write(now, &left, how);
        self.progress = written;
        let value = i64::try_from(written).unwrap_or(i64::MAX);
        if written == wanted {
            Value(value)
        } else if is_patient {
            Blocks
        } else if written == 0 {
            Error("EAGAIN")
        } else {
            Value(value)
        }
    }

    /// A file for `sendfile`. No file of this machine is opened: all that matters is that it is there.
    fn open_file(&mut self, call: &Call) -> Answer {
        let Some(fd) = number(&call.result).filter(|&fd| fd >= 0) else {
            return Lacks("a file that cannot be opened".to_owned());
        };
        self.files.insert(fd);
        Value(fd)
    }

    /// The file is taken to be as long as the call wants.
    fn send_file(&mut self, now: Nanos, fd: i64, call: &Call) -> Answer {
        let from = call.args.get(1).and_then(number);
        if from.is_none_or(|from| !self.files.contains(&from)) {
            return Error("EBADF");
        }
        match call.args.get(3).and_then(number).and_then(|bytes| u64::try_from(bytes).ok()) {
            Some(bytes) if number(&call.result) == i64::try_from(bytes).ok() => {
                self.send(now, fd, &[bytes], Sending::default(), false)
            }
            _ => Lacks("sendfile() of a part of a file".to_owned()),
        }
    }

    fn close(&mut self, now: Nanos, fd: i64) -> Answer {
        let Some(descriptor) = self.descriptors.remove(&fd) else { return Error("EBADF") };
        match descriptor.kind {
            Kind::Fresh => {}
            Kind::Listening => self.stop_listening(fd),
            Kind::Connected(number) => {
                if let Some(link) = self.links.get_mut(number) {
                    if descriptor.resets {
                        link.socket.abort();
                    } else {
                        link.socket.close(now);
                    }
                }
            }
        }
        Value(0)
    }

    /// Connections that the application has not taken are reset (Linux `inet_csk_listen_stop`).
    fn stop_listening(&mut self, fd: i64) {
        for link in &mut self.links {
            if link.listener == Some(fd) && !link.is_accepted {
                link.socket.abort();
            }
        }
    }

    fn shutdown(&mut self, fd: i64, how: Option<&Expr>) -> Answer {
        let is_write = how.is_some_and(|how| has_word(how, "SHUT_WR") || has_word(how, "SHUT_RDWR"));
        let is_read = how.is_some_and(|how| has_word(how, "SHUT_RD") || has_word(how, "SHUT_RDWR"));
        if !is_read && !is_write {
            return Error("EINVAL");
        }
        if matches!(self.kind(fd), Some(Kind::Listening)) {
            if is_read {
                self.stop_listening(fd);
                self.set_kind(fd, Kind::Fresh);
            }
            return Value(0);
        }
        let Some(link) = self.link(fd) else { return Error("ENOTCONN") };
        match link.socket.state() {
            State::Close => return Error("ENOTCONN"),
            State::SynSent => return self.disconnect(fd),
            State::SynRecv => return Lacks("shutdown() before the handshake is done".to_owned()),
            _ => {}
        }
        if is_read {
            link.socket.stop_reading();
        }
        if is_write {
            link.socket.shutdown();
        }
        Value(0)
    }

    fn fcntl(&mut self, fd: i64, args: &[Expr]) -> Answer {
        let Some(descriptor) = self.descriptors.get_mut(&fd) else { return Error("EBADF") };
        match args.get(1) {
            Some(Expr::Word(what)) if what == "F_GETFL" => {
                Value(if descriptor.is_nonblocking { 0x802 } else { 0x2 })
            }
            Some(Expr::Word(what)) if what == "F_SETFL" => {
                descriptor.is_nonblocking = args.get(2).is_some_and(|flags| has_word(flags, "O_NONBLOCK"));
                Value(0)
            }
            _ => Lacks("this fcntl()".to_owned()),
        }
    }

    fn ioctl(&mut self, now: Nanos, fd: i64, args: &[Expr]) -> Answer {
        let Some(Expr::Word(what)) = args.get(1) else { return Lacks("this ioctl()".to_owned()) };
        let Some(link) = self.link(fd) else { return Error("EINVAL") };
        let fin = u64::from(link.socket.is_fin_unacknowledged());
        let actual = match what.as_str() {
            "FIONREAD" | "SIOCINQ" => link.socket.readable(),
            "SIOCOUTQ" => link.socket.unacknowledged() + fin,
            "SIOCOUTQNSD" => link.socket.info(now).notsent_bytes,
            what => return Lacks(format!("{what} in ioctl()")),
        };
        match args.get(2).and_then(only) {
            Some(expected) if u64::try_from(expected) != Ok(actual) => {
                Answer::Wrote(expected.to_string(), actual.to_string())
            }
            _ => Value(0),
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn set_option(&mut self, now: Nanos, fd: i64, args: &[Expr]) -> Answer {
        let Some(Expr::Word(option)) = args.get(2) else { return Lacks("an option by number".to_owned()) };
        let value = args.get(3).and_then(only);
        let Some(descriptor) = self.descriptors.get_mut(&fd) else { return Error("EBADF") };
        let host = &mut descriptor.host;
        if value.is_some_and(|value| is_invalid(option, value, args.get(4).and_then(number))) {
            return Error("EINVAL");
        }
        let doubled = |value: i64, least: u32| ((value as u32).min(LARGEST_BUFFER) * 2).max(least);
        let mut sndbuf = None;
        match (option.as_str(), value) {
            ("SO_SNDBUF", Some(value)) => {
                let bytes = doubled(value, 2 * SOCK_MIN_RCVBUF);
                sndbuf = Some(bytes);
                host.tcp.tcp_wmem = [bytes; 3];
            }
            ("SO_RCVBUF", Some(value)) => {
                if matches!(descriptor.kind, Kind::Connected(_)) {
                    return Lacks("SO_RCVBUF on a connection".to_owned());
                }
                host.tcp.tcp_rmem = [doubled(value, SOCK_MIN_RCVBUF); 3];
            }
            ("SO_MAX_PACING_RATE", Some(value)) => {
                let rate = u64::try_from(value).ok().filter(|&rate| rate < u64::from(u32::MAX));
                host.tcp.max_pacing_rate = rate.map(|rate| Rate(rate.saturating_mul(8)));
            }
            ("TCP_NODELAY", Some(value)) => host.tcp.nodelay = value != 0,
            ("TCP_FASTOPEN", Some(value)) => host.fast_open.queue = value.min(1 << 16) as u32,
            ("TCP_FASTOPEN_CONNECT", _) if host.fast_open.mode & 1 == 0 => return Error("EOPNOTSUPP"),
            ("TCP_FASTOPEN_CONNECT", Some(value)) => descriptor.fast_connect = value != 0,
            ("TCP_FASTOPEN_NO_COOKIE", Some(value)) => {
                descriptor.no_cookie = value != 0;
                host.fast_open.mode =
                    host.fast_open.mode & !NO_COOKIE | if value != 0 { NO_COOKIE } else { 0 };
            }
            ("TCP_FASTOPEN_KEY", _) => {
                let Some(Expr::Text(text)) = args.get(3) else {
                    return Lacks("this TCP_FASTOPEN_KEY".to_owned());
                };
                let length = args.get(4).and_then(number);
                let Some(key) = cookies::key_of_text(text).filter(|_| length == Some(16)) else {
                    return if length == Some(32) { Lacks("two keys".to_owned()) } else { Error("EINVAL") };
                };
                host.fast_open.cookie = cookies::cookie(key, host.ip_header == 40, &self.addresses);
            }
            ("TCP_CORK", Some(value)) => descriptor.is_corked = value != 0,
            ("SO_ZEROCOPY", Some(value)) => descriptor.zero_copy = value != 0,
            ("SO_RCVLOWAT", Some(value)) if value > LARGEST_LOWAT => {
                return Lacks(format!("SO_RCVLOWAT of {value}, which makes the buffer larger"));
            }
            ("SO_RCVLOWAT", Some(value)) => descriptor.rcvlowat = u64::try_from(value).unwrap_or(0).max(1),
            ("TCP_NOTSENT_LOWAT", Some(value)) => descriptor.notsent_lowat = value as u32,
            ("SO_TIMESTAMPING", _) => {
                let wanted = match args.get(3).map(notices::stamping) {
                    Some(Ok(wanted)) => wanted,
                    Some(Err(lacking)) => return Lacks(lacking),
                    None => return Error("EINVAL"),
                };
                let Some(link) = self.link(fd) else {
                    return Lacks("SO_TIMESTAMPING before a connection".to_owned());
                };
                let first = link.socket.window().map_or(1, |window| window.snd_una);
                link.socket.notices.stamp(wanted, first);
                return Value(0);
            }
            ("TCP_MAXSEG", Some(value)) if matches!(descriptor.kind, Kind::Connected(_)) => {
                return Lacks(format!("TCP_MAXSEG of {value} on a connection"));
            }
            ("TCP_MAXSEG", Some(value)) => host.user_mss = (value > 0).then_some(value as u16),
            ("TCP_USER_TIMEOUT", Some(value)) => host.tcp.user_timeout = Span::from_millis(value as u64),
            ("TCP_RTO_MAX_MS", Some(value)) => host.tcp.rto_max = Span::from_millis(value as u64),
            ("TCP_KEEPIDLE", Some(value)) => host.keepalive.time = Span::from_secs(value as u64),
            ("TCP_KEEPINTVL", Some(value)) => host.keepalive.interval = Span::from_secs(value as u64),
            ("TCP_KEEPCNT", Some(value)) => host.keepalive.probes = value as u32,
            ("TCP_RTO_MAX_MS" | "TCP_KEEPIDLE" | "TCP_KEEPINTVL" | "TCP_KEEPCNT", None) => {
                return Error("EINVAL");
            }
            ("SO_KEEPALIVE", Some(value)) => host.keepalive.is_on = value != 0,
            ("TCP_DEFER_ACCEPT", Some(value)) => host.defer_accept = retransmissions(value),
            ("TCP_LINGER2", Some(value)) => {
                let most = Span::from_secs(120);
                host.fin_timeout = u64::try_from(value).ok().map(|value| Span::from_secs(value).min(most));
            }
            ("TCP_SYNCNT", Some(value)) => host.syn_retries = value as u32,
            ("TCP_CONGESTION", _) => match args.get(3) {
                Some(Expr::Text(name)) => match support::congestion_control(name) {
                    Ok(cc) if matches!(descriptor.kind, Kind::Connected(_)) && cc != host.cc => {
                        return Lacks("another congestion control on a connection".to_owned());
                    }
                    Ok(cc) => host.cc = cc,
                    Err(lacking) => return Lacks(lacking),
                },
                _ => return Lacks("this TCP_CONGESTION".to_owned()),
            },
            ("SO_LINGER", _) => {
                let Some(Expr::Struct(fields)) = args.get(3) else {
                    return Lacks("this SO_LINGER".to_owned());
                };
                let field =
                    |name| fields.iter().find(|(field, _)| field == name).and_then(|(_, it)| number(it));
                descriptor.resets = field("onoff") == Some(1) && field("linger") == Some(0);
                if field("onoff") == Some(1) && field("linger") != Some(0) {
                    return Lacks("SO_LINGER with a time".to_owned());
                }
            }
            ("TCP_INQ", Some(value)) => descriptor.tells_inq = value != 0,
            ("TCP_QUICKACK", Some(value)) => {
                match descriptor.kind {
                    Kind::Listening if value == 0 => return Lacks("TCP_QUICKACK of a listener".to_owned()),
                    Kind::Fresh => descriptor.delays_acks = value == 0,
                    _ => {}
                }
                if let Some(link) = self.link(fd) {
                    link.socket.set_quickack(value != 0);
                }
                return Value(0);
            }
            ("TCP_INFO", _) => return Error("ENOPROTOOPT"),
            _ => {}
        }
        let host = *host;
        let (nodelay, pacing) = (host.tcp.nodelay, host.tcp.max_pacing_rate);
        let (is_corked, lowat) = (descriptor.is_corked, descriptor.lowat());
        if let Some(link) = self.link(fd) {
            match option.as_str() {
                "TCP_CORK" => link.socket.set_cork(is_corked),
                "TCP_NODELAY" if nodelay => link.socket.push_pending(),
                "TCP_NOTSENT_LOWAT" => link.socket.notsent_lowat = lowat,
                _ => {}
            }
            link.socket.set_keepalive(now, host.keepalive);
            link.socket.configure_host(|of| {
                (of.fin_timeout, of.syn_retries) = (host.fin_timeout, host.syn_retries);
            });
            link.socket.configure(|tcp| {
                (tcp.nodelay, tcp.max_pacing_rate) = (nodelay, pacing);
                (tcp.user_timeout, tcp.rto_max) = (host.tcp.user_timeout, host.tcp.rto_max);
                if let Some(sndbuf) = sndbuf {
                    tcp.tcp_wmem = [sndbuf; 3];
                }
            });
        }
        Value(0)
    }

    fn get_option(&mut self, fd: i64, args: &[Expr]) -> Answer {
        let Some(Expr::Word(option)) = args.get(2) else { return Lacks("an option by number".to_owned()) };
        let Some(descriptor) = self.descriptors.get(&fd) else { return Error("EBADF") };
        let host = descriptor.host;
        let actual = match option.as_str() {
            "SO_SNDBUF" => host.tcp.tcp_wmem[1].to_string(),
            "SO_RCVBUF" => host.tcp.tcp_rmem[1].to_string(),
            "TCP_NODELAY" => u8::from(host.tcp.nodelay).to_string(),
            "TCP_CORK" => u8::from(descriptor.is_corked).to_string(),
            "SO_ZEROCOPY" => u8::from(descriptor.zero_copy).to_string(),
            "TCP_NOTSENT_LOWAT" => descriptor.notsent_lowat.to_string(),
            "SO_KEEPALIVE" => u8::from(host.keepalive.is_on).to_string(),
            "TCP_KEEPIDLE" => seconds(host.keepalive.time),
            "TCP_KEEPINTVL" => seconds(host.keepalive.interval),
            "TCP_KEEPCNT" => host.keepalive.probes.to_string(),
            "TCP_USER_TIMEOUT" => (host.tcp.user_timeout.0 / 1_000_000).to_string(),
            "TCP_RTO_MAX_MS" => (host.tcp.rto_max.0 / 1_000_000).to_string(),
            "TCP_LINGER2" => host.fin_timeout.map_or("-1".to_owned(), seconds),
            "TCP_SYNCNT" => host.syn_retries.to_string(),
            "TCP_CONGESTION" => host.cc.name().to_owned(),
            "SO_ERROR" => {
                let why = self.link(fd).and_then(|link| link.socket.take_error());
                error(why).unwrap_or("0").to_owned()
            }
            "TCP_MAXSEG" if !matches!(descriptor.kind, Kind::Connected(_)) => {
                host.user_mss.unwrap_or(TCP_MSS_DEFAULT).to_string()
            }
            "TCP_MAXSEG" => match self.link(fd).and_then(|link| link.socket.window().map(|w| w.mss)) {
                Some(mss) => mss.to_string(),
                None => return Lacks("TCP_MAXSEG before the handshake is done".to_owned()),
            },
            "SO_RCVLOWAT" => descriptor.rcvlowat.to_string(),
            "SO_TYPE" => "1".to_owned(),
            "SO_PROTOCOL" => "6".to_owned(),
            "SO_ACCEPTCONN" => u8::from(matches!(descriptor.kind, Kind::Listening)).to_string(),
            "IP_MTU" | "IPV6_MTU" => match descriptor.kind {
                Kind::Connected(_) => host.mtu.to_string(),
                _ => return Error("ENOTCONN"),
            },
            "TCP_INFO" if matches!(args.get(3), Some(Expr::Any)) => return Value(0),
            option => return Lacks(format!("{option} in getsockopt()")),
        };
        let expected = match args.get(3) {
            None | Some(Expr::Any) => return Value(0),
            Some(Expr::Array(items)) if items.len() == 1 => items[0].to_string(),
            Some(Expr::Text(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let is_same = expected == actual || errno(&expected).is_some_and(|name| name == actual);
        if is_same || expected == "..." { Value(0) } else { Answer::Wrote(expected, actual) }
    }
}

/// Whether Linux refuses the value of an option of one number, whatever the socket does.
fn is_invalid(option: &str, value: i64, length: Option<i64>) -> bool {
    // An `int` of C; these two options take a byte, too.
    let least = if matches!(option, "IP_TTL" | "IP_TOS") { 1 } else { 4 };
    let range = match option {
        "SO_ZEROCOPY" | "TCP_INQ" | "TCP_THIN_DUPACK" | "TCP_FASTOPEN_CONNECT" | "TCP_FASTOPEN_NO_COOKIE" => {
            0..=1
        }
        "TCP_FASTOPEN" | "TCP_USER_TIMEOUT" => 0..=i64::from(i32::MAX),
        "TCP_KEEPIDLE" | "TCP_KEEPINTVL" => 1..=32_767,
        "TCP_KEEPCNT" | "TCP_SYNCNT" => 1..=127,
        "TCP_MAXSEG" if value != 0 => 88..=32_767,
        "TCP_RTO_MAX_MS" => 1000..=120_000,
        "IP_TTL" if value != -1 => 1..=255,
        "IP_MTU_DISCOVER" => 0..=5,
        "IPV6_TCLASS" => -1..=255,
        _ => i64::MIN..=i64::MAX,
    };
    length.is_some_and(|length| length < least) || !range.contains(&value)
}

/// Whole seconds.
fn seconds(span: Span) -> String {
    (span.0 / 1_000_000_000).to_string()
}

/// How often a SYN-ACK is sent again in so many seconds (Linux `secs_to_retrans`).
fn retransmissions(seconds: i64) -> u32 {
    let (mut count, mut timeout, mut passed) = (u32::from(seconds > 0), 1, 1);
    while passed < seconds && count < 255 {
        timeout = (timeout * 2).min(120);
        (count, passed) = (count + 1, passed + timeout);
    }
    count
}

/// The number in an array of one.
fn only(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Array(items) if items.len() == 1 => number(&items[0]),
        _ => None,
    }
}

/// The elements, in bytes, that a call reads or writes.
fn sizes(call: &Call) -> Option<Vec<u64>> {
    match call.name.as_str() {
        "readv" | "writev" => iovecs(call.args.get(1)?),
        "recvmsg" | "sendmsg" => match call.args.get(1)? {
            Expr::Struct(fields) => iovecs(&fields.iter().find(|(name, _)| name == "msg_iov")?.1),
            _ => None,
        },
        _ => Some(vec![u64::try_from(number(call.args.get(2)?)?).ok()?]),
    }
}

/// The sizes in `[{..., 1000}, {..., 500}]`.
fn iovecs(expr: &Expr) -> Option<Vec<u64>> {
    let Expr::Array(items) = expr else { return None };
    let size = |item: &Expr| match item {
        Expr::Struct(fields) => u64::try_from(number(&fields.last()?.1)?).ok(),
        _ => None,
    };
    let sizes: Vec<u64> = items.iter().map(size).collect::<Option<_>>()?;
    sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size))?;
    Some(sizes)
}

/// What is left of elements behind the first `skipped` bytes.
fn behind(parts: &[u64], skipped: u64) -> Vec<u64> {
    let mut skipped = skipped;
    let mut left = Vec::new();
    for part in parts {
        let gone = skipped.min(*part);
        skipped -= gone;
        if *part > gone {
            left.push(part - gone);
        }
    }
    left
}

/// The number that a control message of `recvmsg` must have, if it must have one.
fn control_data(call: &Call) -> Option<Option<u64>> {
    let Some(Expr::Struct(fields)) = call.args.get(1) else { return None };
    let Expr::Array(messages) = &fields.iter().find(|(name, _)| name == "msg_control")?.1 else {
        return None;
    };
    let Expr::Struct(message) = messages.first()? else { return None };
    let data = &message.iter().find(|(name, _)| name == "cmsg_data")?.1;
    Some(number(data).and_then(|data| u64::try_from(data).ok()))
}

/// Linux's name for why a connection ended.
fn error(why: Option<SocketError>) -> Option<&'static str> {
    Some(match why? {
        SocketError::ConnectionRefused => "ECONNREFUSED",
        SocketError::ConnectionReset => "ECONNRESET",
        SocketError::BrokenPipe => "EPIPE",
        SocketError::TimedOut => "ETIMEDOUT",
        SocketError::NetworkUnreachable => "ENETUNREACH",
        SocketError::HostUnreachable => "EHOSTUNREACH",
        SocketError::NoProtocolOption => "ENOPROTOOPT",
        SocketError::HostDown => "EHOSTDOWN",
        SocketError::NotOnNetwork => "ENONET",
        SocketError::NotSupported => "EOPNOTSUPP",
        SocketError::Protocol => "EPROTO",
    })
}

/// The name of an error by its number.
fn errno(number: &str) -> Option<&'static str> {
    Some(match number {
        "32" => "EPIPE",
        "104" => "ECONNRESET",
        "110" => "ETIMEDOUT",
        "111" => "ECONNREFUSED",
        _ => return None,
    })
}
