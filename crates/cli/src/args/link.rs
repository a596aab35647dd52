//! The arguments of `goodqueue link`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue link --down 20mbit --up 5mbit --rtt 40ms --expose 8080 -- sh -c 'curl http://$GOODQUEUE_SERVER:8080/'
  goodqueue link --down 16mbit --up 1mbit --queue fq_codel --expose 8080 --quiet -- npm test
  goodqueue link --rate 2mbit --rtt 100ms --loss 1% --expose 5432 --shell
  goodqueue link --rate 10mbit --watch --expose 5201 -- sh -c 'iperf3 -c $GOODQUEUE_SERVER'

The program sees a network with one other host, whose address is in $GOODQUEUE_SERVER. TCP
connections to exposed ports of that host go on to this machine's loopback interface. Nothing else
can be reached: no other network, no DNS. Both directions have the same queue.

The exit code is the program's; 126 if it cannot be started, 127 if there is none; 128 and its
number if a signal ended it. 2 and 3 are also goodqueue's, with a message.";

/// `goodqueue link`.
#[derive(Args, Clone, Debug)]
pub struct LinkArgs {
    /// Rate of both directions, of Ethernet frames without FCS [default: 20mbit]
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub rate: Option<String>,
    /// Rate from the program
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub up: Option<String>,
    /// Rate to the program
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub down: Option<String>,
    /// Round-trip time without load, half of it each way
    #[arg(long, value_name = "TIME", default_value = "20ms", help_heading = "Link")]
    pub rtt: String,
    /// The queue of both directions; `goodqueue queues` lists them with their parameters
    #[arg(
        short,
        long,
        value_name = "QUEUE[,PARAM=VALUE]...",
        default_value = "pfifo:1000",
        help_heading = "Link"
    )]
    pub queue: String,
    /// Probability of loss on the line, each way
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    pub loss: String,
    /// Entries of a device ring between queue and line
    #[arg(long, value_name = "PACKETS", help_heading = "Link")]
    pub ring: Option<u32>,
    /// Keep the ring short with BQL
    #[arg(long, requires = "ring", help_heading = "Link")]
    pub bql: bool,
    /// The program's connections ask for ECN
    #[arg(long, help_heading = "Link")]
    pub ecn: bool,
    /// Root of every random stream (loss, queues that draw)
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Link")]
    pub seed: u64,
    /// Make a TCP port of this machine's loopback interface reachable, under its own number or as PORT; may
    /// be repeated
    #[arg(long, value_name = "[PORT:]LOCAL", help_heading = "Link")]
    pub expose: Vec<String>,
    /// Print a line each second: rate and waiting time of each direction
    #[arg(long, help_heading = "Output")]
    pub watch: bool,
    /// Write the report as JSON into FILE; /dev/fd/3 is the file descriptor 3
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print no report
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// Run $SHELL
    #[arg(long, conflicts_with = "command")]
    pub shell: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "shell")]
    pub command: Vec<OsString>,
}
