//! The interfaces between which an engine is the wire.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use goodqueue::Direction;

use crate::Result;
use crate::frame::{self, ETHERNET, Meta};
use crate::lab::{ROUTER_TO_CLIENT, ROUTER_TO_SERVER};
use crate::netlink::Tracking;
use crate::sys::packet::{Fanout, Receive};

/// Bytes of two VLAN tags.
const TAGS: u32 = 8;

/// Where the frames of a direction come from, and where they go.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) from: String,
    pub(crate) which: Receive,
    pub(crate) to: String,
    /// See [`crate::sys::packet::PacketSocket::sending`].
    pub(crate) mark: Option<u32>,
    /// Frames to any single station other than this one are not taken.
    pub(crate) only_to: Option<[u8; 6]>,
    /// The sockets of the threads over which the frames are spread, if there are several.
    pub(crate) fanout: Option<Arc<Fanout>>,
}

impl Route {
    fn new(from: &str, which: Receive, to: &str) -> Route {
        Route { from: from.into(), which, to: to.into(), mark: None, only_to: None, fanout: None }
    }
}

/// The interfaces between which an engine works, for both directions.
#[derive(Debug)]
pub struct Interfaces {
    /// Up, down.
    pub(crate) routes: [Route; 2],
    mtu: u32,
    /// Whether super-packets of TCP are taken, and cut; they leave whole where they may.
    pub(crate) has_super_packets: bool,
    /// Whether everything passes: protocols other than IP, groups, tags.
    is_transparent: bool,
    /// Knows the addresses behind address translation.
    tracking: Option<Tracking>,
}

impl Interfaces {
    /// The router of a lab: IP between single stations, and nothing else.
    pub(crate) fn of_lab(mtu: u32, has_super_packets: bool) -> Interfaces {
        let route = |from, to| Route::new(from, Receive::Arriving, to);
        let routes = [route(ROUTER_TO_CLIENT, ROUTER_TO_SERVER), route(ROUTER_TO_SERVER, ROUTER_TO_CLIENT)];
        Interfaces { routes, mtu, has_super_packets, is_transparent: false, tracking: None }
    }

    /// A bridge: what arrives at `client` leaves at `server` (up), and vice versa (down). `mtu`: the larger
    /// of both MTUs, bytes.
    #[must_use]
    pub fn bridge(client: &str, server: &str, mtu: u32) -> Interfaces {
        let route = |from, to| Route::new(from, Receive::Promiscuous, to);
        let routes = [route(client, server), route(server, client)];
        Interfaces { routes, mtu, has_super_packets: false, is_transparent: true, tracking: None }
    }

    /// A detour for the frames of one interface: the kernel sends frames that leave `interface` out through
    /// `taken[0]` (up), and frames that arrived there out through `taken[1]` (down). They come back with
    /// `mark`, up to `interface` and down to `taken[1]`. Down, frames to any single station other than
    /// `station` are not taken. `mtu` in bytes.
    #[must_use]
    pub fn detour(
        interface: &str,
        taken: [&str; 2],
        mark: u32,
        mtu: u32,
        station: Option<[u8; 6]>,
    ) -> Interfaces {
        let route =
            |from, to, only_to| Route { mark: Some(mark), only_to, ..Route::new(from, Receive::Leaving, to) };
        let routes = [route(taken[0], interface, None), route(taken[1], taken[1], station)];
        Interfaces { routes, mtu, has_super_packets: false, is_transparent: true, tracking: None }
    }

    /// The same, but hosts are distinguished by their addresses behind address translation.
    #[must_use]
    pub fn tracked(self, tracking: Option<Tracking>) -> Interfaces {
        Interfaces { tracking, ..self }
    }

    /// The same, where several threads share the frames of direction `way`.
    pub(crate) fn spread(&mut self, way: Direction) {
        self.routes[way as usize].fanout = Some(Arc::default());
    }

    /// The same for another thread, with its own table of address translation: looking up a packet waits for
    /// no other thread.
    pub(crate) fn another(&self) -> Result<Interfaces> {
        let tracking = self.tracking.as_ref().map(Tracking::another).transpose()?;
        Ok(Interfaces { routes: self.routes.clone(), tracking, ..*self })
    }

    /// The view of address translation, if there is one.
    pub(crate) fn tracking(&mut self) -> Option<&mut Tracking> {
        self.tracking.as_mut()
    }

    /// Whether a socket error is temporary: a real interface goes down and comes up again.
    pub(crate) fn outlives(&self, errno: &io::Error) -> bool {
        self.is_transparent && errno.raw_os_error() == Some(libc::ENETDOWN)
    }

    /// Bytes of the longest frame that is taken. Longer ones are super-packets.
    pub(crate) fn longest_frame(&self) -> u32 {
        let tags = if self.is_transparent { TAGS } else { 0 };
        self.mtu.saturating_add(ETHERNET as u32 + tags)
    }

    /// What a queue must know about a frame; `None` if the frame does not pass.
    pub(crate) fn meta(&self, way: Direction, bytes: &[u8]) -> Option<Meta> {
        if !self.is_transparent {
            return if frame::is_group(bytes) { None } else { frame::parse(bytes) };
        }
        let is_other = self.routes[way as usize].only_to.is_some_and(|station| !bytes.starts_with(&station));
        if is_other && !frame::is_group(bytes) {
            return None;
        }
        Some(frame::parse(bytes).unwrap_or(OTHER))
    }
}

/// For frames without IP: all are one flow.
const OTHER: Meta = Meta {
    source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    protocol: 0,
    source_port: 0,
    destination_port: 0,
    dsfield: 0,
    fragment: false,
};
