//! Client, router and server: three anonymous network namespaces in a row.
//!
//! ```text
//!   client                    router                    server
//!   10.73.0.1/24   cli ── rcli [ engine ] rsrv ── srv   10.73.0.2/24 .. 10.73.0.9/24
//!   fd73::1/64                                          fd73::2/64   .. fd73::9/64
//! ```
//!
//! Client and server seem to be on one Ethernet; the [`crate::Engine`] in the router is the wire between
//! them. The router's interfaces have no address, and its IP stack is not involved. Neighbour entries are
//! permanent, so no ARP or ND packet is ever in a queue; multicast is not forwarded.
//!
//! A host may be put behind the server ([`Lab::host_behind`]): the server's namespace then forwards to it,
//! so that a queue of the kernel can be on the way.
//!
//! Every offload that can be switched is off on all interfaces, and the lab verifies that. So the router
//! sees what a real wire would carry: frames of at most the MTU with complete checksums.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::netlink::{End, Mac, Route, Via};
use crate::netns::{Netns, read_sysctl, write_sysctl};
use crate::sys::ethtool::Ethtool;
use crate::sys::namespace::interface_index;
use crate::{Error, Result};

/// Most server addresses of a lab.
pub const MAX_HOSTS: u8 = 8;

/// The client's interface.
pub const CLIENT_INTERFACE: &str = "cli";
/// The server's interface.
pub const SERVER_INTERFACE: &str = "srv";
/// The router's interface towards the client.
pub const ROUTER_TO_CLIENT: &str = "rcli";
/// The router's interface towards the server.
pub const ROUTER_TO_SERVER: &str = "rsrv";
/// The server's interface towards the host behind it.
pub const SERVER_TO_BEHIND: &str = "sbeh";
/// The interface of the host behind the server.
pub const BEHIND_INTERFACE: &str = "beh";

const fn mac(last: u8) -> Mac {
    // Locally administered, unicast.
    [0x02, 0x67, 0x71, 0, 0, last]
}
const CLIENT_MAC: Mac = mac(1);
const SERVER_MAC: Mac = mac(2);
const SERVER_TO_BEHIND_MAC: Mac = mac(3);
const BEHIND_MAC: Mac = mac(4);

/// A host of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host that starts loads and probes.
    Client,
    /// The host that they go to.
    Server,
}

/// The configuration of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabSpec {
    /// Number of server addresses, 1 to [`MAX_HOSTS`]; each can have its own delay.
    pub hosts: u8,
    /// IP MTU of all interfaces, bytes, 1280 to 2034 (a frame must fit into the engine's slots); default
    /// 1500.
    pub mtu: u32,
    /// Client and server send super-packets of TCP (TSO, up to 64 KiB) with partial checksums, and the engine
    /// cuts them into segments in front of its queues. Segments that leave together leave as a super-packet.
    /// This takes less processor time than separate segments. Off by default.
    pub super_packets: bool,
    /// Sysctls of client and server, by dotted name. They are written in this order after the lab's own
    /// (see [`LabSpec::default`]) and read back. They must belong to the network namespace
    /// (`net.ipv4.tcp_ecn`).
    pub sysctls: Vec<(String, String)>,
}

impl Default for LabSpec {
    /// One host, MTU 1500, no metrics cached between connections (`net.ipv4.tcp_no_metrics_save=1`). The
    /// kernel soon gives up orphaned connections (`net.ipv4.tcp_orphan_retries=1`), so that they do not keep
    /// namespaces alive.
    fn default() -> LabSpec {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let sysctls =
            vec![pair("net.ipv4.tcp_no_metrics_save", "1"), pair("net.ipv4.tcp_orphan_retries", "1")];
        LabSpec { hosts: 1, mtu: goodqueue::ETHERNET_MTU, super_packets: false, sysctls }
    }
}

impl LabSpec {
    /// Adds a sysctl; an earlier value of it is replaced.
    #[must_use]
    pub fn sysctl(mut self, name: &str, value: &str) -> LabSpec {
        self.sysctls.retain(|(other, _)| other != name);
        self.sysctls.push((name.to_owned(), value.to_owned()));
        self
    }

    fn check(&self) -> Result<()> {
        if self.hosts == 0 || self.hosts > MAX_HOSTS {
            return Err(Error::Invalid { what: "hosts", wanted: "1 to 8", got: self.hosts.to_string() });
        }
        if !(1280..=2034).contains(&self.mtu) {
            return Err(Error::Invalid {
                what: "the MTU",
                wanted: "1280 to 2034",
                got: self.mtu.to_string(),
            });
        }
        Ok(())
    }
}

/// Sysctls that influence a TCP experiment, for the record of a run.
const RECORDED: [&str; 36] = [
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.ipv4.tcp_comp_sack_nr",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_fallback",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_orphan_retries",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_thin_linear_timeouts",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_rtt_log",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_rmem_min",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.somaxconn",
];

/// Suppresses messages that interfaces send on their own; written before the interfaces exist.
const QUIET_V6: [(&str, &str); 7] = [
    ("disable_ipv6", "0"),
    ("accept_dad", "0"),
    ("dad_transmits", "0"),
    ("router_solicitations", "0"),
    ("accept_ra", "0"),
    ("autoconf", "0"),
    ("addr_gen_mode", "1"),
];

/// Whether an offload changes frames from what a wire would carry.
fn is_offload(feature: &str) -> bool {
    const PREFIXES: [&str; 11] = [
        "tx-tcp",
        "tx-udp",
        "tx-sctp",
        "tx-gso",
        "tx-gre",
        "tx-ipxip",
        "tx-generic-segmentation",
        "tx-checksum",
        "tx-scatter-gather",
        "rx-gro",
        "rx-udp",
    ];
    PREFIXES.iter().any(|prefix| feature.starts_with(prefix))
        || ["rx-checksum", "rx-lro", "tx-esp-segmentation"].contains(&feature)
}

/// The offloads with which a host sends super-packets of TCP.
fn is_tcp_segmentation(feature: &str) -> bool {
    [
        "tx-checksum-ip-generic",
        "tx-scatter-gather",
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-generic-segmentation",
    ]
    .contains(&feature)
}

/// Three namespaces and the veth pairs between them. They disappear when it is dropped or when the process
/// ends, even by `SIGKILL`, because nothing of it has a name outside.
#[derive(Debug)]
pub struct Lab {
    client: Netns,
    router: Netns,
    server: Netns,
    hosts: u8,
    mtu: u32,
    super_packets: bool,
    ipv6: bool,
    /// Whether an engine runs in the router.
    taken: Arc<AtomicBool>,
}

impl Lab {
    /// Creates and checks a lab.
    ///
    /// # Errors
    /// `Missing` if the machine does not permit it or the kernel lacks veth; `Invalid` for a specification
    /// out of range; `NotTaken` if a sysctl or an offload does not keep its value; `System` for anything
    /// else.
    pub fn new(spec: &LabSpec) -> Result<Lab> {
        spec.check()?;
        let lab = Lab {
            client: Netns::new("client")?,
            router: Netns::new("router")?,
            server: Netns::new("server")?,
            hosts: spec.hosts,
            mtu: spec.mtu,
            super_packets: spec.super_packets,
            ipv6: Path::new("/proc/sys/net/ipv6").exists(),
            taken: Arc::default(),
        };
        if lab.ipv6 {
            lab.router.run(|| disable_ipv6(&["all", "default"]))??;
        }
        let router = lab.router.as_fd();
        lab.client.run(|| lab.make_wire(Side::Client, router, spec))??;
        lab.server.run(|| lab.make_wire(Side::Server, router, spec))??;
        lab.router.run(take_router_up)??;
        lab.client.run(|| lab.take_up(Side::Client))??;
        lab.server.run(|| lab.take_up(Side::Server))??;
        lab.set_offloads(false)?;
        if spec.super_packets {
            lab.on_all_interfaces(|interface| switch(interface, true, is_tcp_segmentation))?;
        }
        Ok(lab)
    }

    /// The client's namespace.
    #[must_use]
    pub fn client(&self) -> &Netns {
        &self.client
    }

    /// The router's namespace.
    #[must_use]
    pub fn router(&self) -> &Netns {
        &self.router
    }

    /// The server's namespace.
    #[must_use]
    pub fn server(&self) -> &Netns {
        &self.server
    }

    /// The namespace of `side`.
    #[must_use]
    pub fn side(&self, side: Side) -> &Netns {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Number of server addresses.
    #[must_use]
    pub fn hosts(&self) -> u8 {
        self.hosts
    }

    /// Whether its hosts send super-packets.
    pub(crate) fn has_super_packets(&self) -> bool {
        self.super_packets
    }

    /// IP MTU, bytes.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The client's address: `10.73.0.1` or `fd73::1`.
    #[must_use]
    pub fn client_address(v6: bool) -> IpAddr {
        address(v6, 1)
    }

    /// The IPv4 address of the host behind the server, which seems to be on the Ethernet of the others.
    #[must_use]
    pub fn behind_address() -> IpAddr {
        address(false, 130)
    }

    /// Makes the server stand in for every other host: the client has a default route to it, and packets to
    /// any address reach the server's sockets (`ip route add local default dev lo`). `v6`: for IPv6 as well,
    /// if the kernel has it.
    ///
    /// # Errors
    /// `System` if a route cannot be made.
    pub fn be_every_host(&self, v6: bool) -> Result<()> {
        let versions: &[bool] = if v6 && self.ipv6 { &[false, true] } else { &[false] };
        let any = |v6| match v6 {
            false => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            true => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
        };
        let client = || {
            let mut route = Route::open()?;
            let to_server = |v6| Via::Gateway(Lab::server_address(v6, 0));
            versions.iter().try_for_each(|&v6| route.add_route(any(v6), &to_server(v6)))
        };
        let server = || {
            let mut route = Route::open()?;
            let (near, own) = (interface_index(SERVER_INTERFACE)?, interface_index("lo")?);
            versions.iter().try_for_each(|&v6| {
                // The longer prefix keeps answers to the client on the link.
                let host = if v6 { 128 } else { 32 };
                route.add_route((Lab::client_address(v6), host), &Via::Direct(near))?;
                route.add_route(any(v6), &Via::Local(own))?;
                // For IPv6, `bind` looks at the addresses of interfaces, not at routes (`__inet6_bind`).
                if v6 { write_sysctl("net.ipv6.ip_nonlocal_bind", "1") } else { Ok(()) }
            })
        };
        self.client.run(client)??;
        self.server.run(server)?
    }

    /// Puts a host behind the server, and makes the server's namespace forward IPv4 packets to it. The host
    /// has the sysctls of `spec`, and disappears when the returned namespace is dropped. There can be one at
    /// a time.
    ///
    /// # Errors
    /// Those of [`Lab::new`].
    pub fn host_behind(&self, spec: &LabSpec) -> Result<Netns> {
        let behind = Netns::new("behind")?;
        let prepare = || {
            if self.ipv6 {
                disable_ipv6(&["all", "default"])?;
            }
            spec.sysctls.iter().try_for_each(|(name, value)| write_sysctl(name, value))
        };
        behind.run(prepare)??;
        let join = || {
            if self.ipv6 {
                disable_ipv6(&["default"])?;
            }
            write_sysctl("net.ipv4.ip_forward", "1")?;
            let near = End { name: SERVER_TO_BEHIND, mac: SERVER_TO_BEHIND_MAC, mtu: self.mtu };
            let far = End { name: BEHIND_INTERFACE, mac: BEHIND_MAC, mtu: self.mtu };
            let mut route = Route::open()?;
            route.add_veth(&near, &far, behind.as_fd())?;
            let index = interface_index(SERVER_TO_BEHIND)?;
            route.set_up(index, SERVER_TO_BEHIND)?;
            // The longer prefix is the route to the host; the clients' is shorter.
            route.add_address(index, address(false, 129), 25)?;
            route.add_neighbour(index, Lab::behind_address(), BEHIND_MAC)?;
            set_offloads(SERVER_TO_BEHIND, false)
        };
        self.server.run(join)??;
        let take_up = || {
            let mut route = Route::open()?;
            route.set_up(interface_index("lo")?, "lo")?;
            let index = interface_index(BEHIND_INTERFACE)?;
            route.set_up(index, BEHIND_INTERFACE)?;
            route.add_address(index, Lab::behind_address(), 24)?;
            route.add_neighbour(index, Lab::client_address(false), SERVER_TO_BEHIND_MAC)?;
            set_offloads(BEHIND_INTERFACE, false)
        };
        behind.run(take_up)??;
        self.client.run(|| {
            let index = interface_index(CLIENT_INTERFACE)?;
            Route::open()?.add_neighbour(index, Lab::behind_address(), SERVER_MAC)
        })??;
        Ok(behind)
    }

    /// Reserves the router for an engine, until the returned value is dropped.
    pub(crate) fn take_router(&self) -> Result<Taken> {
        if self.taken.swap(true, Ordering::AcqRel) {
            let (wanted, got) = ("one at a time", "a second".to_owned());
            return Err(Error::Invalid { what: "the engine of a lab", wanted, got });
        }
        Ok(Taken(Arc::clone(&self.taken)))
    }

    /// The address of server host `host` (from 0): `10.73.0.2` or `fd73::2` and on.
    #[must_use]
    pub fn server_address(v6: bool, host: u8) -> IpAddr {
        address(v6, host.saturating_add(2))
    }

    /// The sysctls of `side` that influence an experiment, by name, without those that this kernel does not
    /// show in a namespace.
    ///
    /// # Errors
    /// Those of [`Netns::run`].
    pub fn sysctls(&self, side: Side) -> Result<BTreeMap<String, String>> {
        self.side(side).run(|| {
            let read = |name: &&str| read_sysctl(name).map(|value| ((*name).to_owned(), value));
            RECORDED.iter().filter_map(read).collect()
        })
    }

    /// Switches all offloads of the four interfaces off (or on, to test what the engine must refuse), and
    /// verifies that.
    ///
    /// # Errors
    /// `NotTaken` if one stays on; `System` if ethtool fails.
    pub fn set_offloads(&self, on: bool) -> Result<()> {
        self.on_all_interfaces(|interface| set_offloads(interface, on))
    }

    /// Runs `act` on the four interfaces, each in its namespace.
    fn on_all_interfaces(&self, act: impl Fn(&str) -> Result<()> + Copy + Send) -> Result<()> {
        let work = |interfaces: &'static [&'static str]| {
            move || interfaces.iter().try_for_each(|interface| act(interface))
        };
        self.router.run(work(&[ROUTER_TO_CLIENT, ROUTER_TO_SERVER]))??;
        self.client.run(work(&[CLIENT_INTERFACE]))??;
        self.server.run(work(&[SERVER_INTERFACE]))?
    }

    /// Deletes the veth pair between `side` and the router, like pulling out a cable. For tests.
    ///
    /// # Errors
    /// `System` if the pair does not exist any more.
    pub fn unplug(&self, side: Side) -> Result<()> {
        let name = interface_of(side);
        self.side(side).run(|| Route::open()?.delete_link(interface_index(name)?, name))?
    }

    /// In the namespace of `side`: writes its sysctls, then creates a veth pair to the router. Sysctls come
    /// first, so that they apply to the new interface.
    fn make_wire(&self, side: Side, router: BorrowedFd<'_>, spec: &LabSpec) -> Result<()> {
        if self.ipv6 {
            for (name, value) in QUIET_V6 {
                write_sysctl(&format!("net.ipv6.conf.default.{name}"), value)?;
            }
            write_sysctl("net.ipv6.conf.all.disable_ipv6", "0")?;
        }
        for (name, value) in &spec.sysctls {
            write_sysctl(name, value)?;
        }
        let (near, far, near_mac, far_mac) = match side {
            Side::Client => (CLIENT_INTERFACE, ROUTER_TO_CLIENT, CLIENT_MAC, mac(0x81)),
            Side::Server => (SERVER_INTERFACE, ROUTER_TO_SERVER, SERVER_MAC, mac(0x82)),
        };
        let near = End { name: near, mac: near_mac, mtu: self.mtu };
        let far = End { name: far, mac: far_mac, mtu: self.mtu };
        Route::open()?.add_veth(&near, &far, router).map_err(|e| {
            let cure = "use a kernel with CONFIG_VETH (module veth)";
            e.or_missing(&[libc::EOPNOTSUPP], "veth interfaces", cure)
        })
    }

    /// In the namespace of `side`: brings loopback and interface up, and adds addresses and neighbours.
    fn take_up(&self, side: Side) -> Result<()> {
        let name = interface_of(side);
        let mut route = Route::open()?;
        route.set_up(interface_index("lo")?, "lo")?;
        let index = interface_index(name)?;
        route.set_up(index, name)?;
        for v6 in [false, true] {
            if v6 && !self.ipv6 {
                continue;
            }
            let prefix = if v6 { 64 } else { 24 };
            let servers = (0..self.hosts).map(|host| Lab::server_address(v6, host));
            match side {
                Side::Client => {
                    route.add_address(index, Lab::client_address(v6), prefix)?;
                    for server in servers {
                        route.add_neighbour(index, server, SERVER_MAC)?;
                    }
                }
                Side::Server => {
                    for server in servers {
                        route.add_address(index, server, prefix)?;
                    }
                    route.add_neighbour(index, Lab::client_address(v6), CLIENT_MAC)?;
                }
            }
        }
        Ok(())
    }
}

/// The reservation of the router by an engine.
#[derive(Debug)]
pub(crate) struct Taken(Arc<AtomicBool>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn interface_of(side: Side) -> &'static str {
    match side {
        Side::Client => CLIENT_INTERFACE,
        Side::Server => SERVER_INTERFACE,
    }
}

fn address(v6: bool, last: u8) -> IpAddr {
    if v6 {
        IpAddr::V6(Ipv6Addr::new(0xfd73, 0, 0, 0, 0, 0, 0, u16::from(last)))
    } else {
        IpAddr::V4(Ipv4Addr::new(10, 73, 0, last))
    }
}

fn disable_ipv6(of: &[&str]) -> Result<()> {
    of.iter().try_for_each(|name| write_sysctl(&format!("net.ipv6.conf.{name}.disable_ipv6"), "1"))
}

fn take_router_up() -> Result<()> {
    let mut route = Route::open()?;
    for name in ["lo", ROUTER_TO_CLIENT, ROUTER_TO_SERVER] {
        route.set_up(interface_index(name)?, name)?;
    }
    Ok(())
}

/// Switches all offloads that change frames off (or on) for an interface of the calling thread's namespace,
/// and verifies that.
///
/// # Errors
/// Those of [`Lab::set_offloads`].
pub fn set_offloads(interface: &str, on: bool) -> Result<()> {
    switch(interface, on, is_offload)
}

/// Switches those features of an interface that `select` accepts and that can be changed, and verifies that.
fn switch(interface: &str, on: bool, select: impl Fn(&str) -> bool) -> Result<()> {
    let ethtool = Ethtool::open(interface)?;
    ethtool.set(on, &select)?;
    let word = |on: bool| if on { "on" } else { "off" }.to_owned();
    let differs = |f: &crate::sys::ethtool::Feature| f.active != on && f.changeable && select(&f.name);
    match ethtool.features()?.into_iter().find(differs) {
        Some(feature) => Err(Error::NotTaken {
            setting: format!("{} of {interface}", feature.name),
            wanted: word(on),
            got: word(feature.active),
        }),
        None => Ok(()),
    }
}
