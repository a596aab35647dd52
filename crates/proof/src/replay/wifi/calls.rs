//! The stack under replay: made from a header, called by records, its results written as records.

use std::collections::HashMap;

use goodqueue::codel::Parity;
use goodqueue::wifi::{
    Ac, AqlLimits, Capacity, Estimate, Held, InterfaceId, PerAc, RateInfo, StationId, Tid, TxStack, TxqId,
    Width, WifiError, WifiParams,
};
use goodqueue::{Header, Nanos, Observer, PacketInfo, Reason, Span};

use super::duration::{band_of, he_gi};
use crate::replay::Fault;
use crate::replay::text::{Entry, Fields, Step};

/// The most stations that a file may name.
const MOST_STATIONS: usize = 1 << 14;

/// The stack and its surroundings.
pub(super) struct Stack {
    pub(super) stack: TxStack<Header>,
    /// Numbers of stations in the file, and ours.
    stations: HashMap<u32, StationId>,
    /// The same the other way.
    numbers: Vec<u32>,
    /// Packets under way: their station, category and estimate; multicast has none.
    under_way: HashMap<u64, Option<(StationId, Ac, Estimate)>>,
    has_aql: bool,
}

/// Results as records.
struct Collect<'a>(&'a mut Vec<String>);

impl Observer<Header> for Collect<'_> {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.0.push(format!("X {} {}", packet.cookie, reason.name()));
    }

    fn marked(&mut self, _now: Nanos, packet: &Header, _reason: Reason) {
        self.0.push(format!("M {}", packet.cookie));
    }
}

impl PacketInfo<Header> for Collect<'_> {}

/// What is wrong with a call, in the stack's words.
fn refused(line: usize) -> impl Fn(WifiError) -> Fault {
    move |error| Fault::at(line, error.to_string())
}

impl Stack {
    /// The stack that a header of so many lines describes, with room for all that the steps hold.
    pub(super) fn new(header_len: usize, settings: &[Entry<'_>], steps: &[Step<'_>]) -> Result<Stack, Fault> {
        let mut numbers: Vec<u32> = Vec::new();
        for step in steps.iter().filter(|step| step.kind == "STA") {
            numbers.push(step.fields.clone().named("sta")?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() > MOST_STATIONS {
            return Err(Fault::at(header_len, "too many stations"));
        }
        let arrivals = steps.iter().filter(|step| step.kind == "E").count();
        let mut capacity = Capacity {
            stations: u32::try_from(numbers.len().max(1)).unwrap_or(1),
            packets: u32::try_from(arrivals.max(1)).unwrap_or(u32::MAX),
            ..Capacity::default()
        };
        let mut params = WifiParams { aql: false, parity: Parity::Linux, ..WifiParams::default() };
        for entry in settings {
            set(&mut params, &mut capacity, entry)?;
        }
        let has_aql = params.aql;
        let stack = TxStack::new(params, capacity).map_err(refused(header_len))?;
        let stations = (0..).map(StationId).zip(&numbers).map(|(id, &number)| (number, id)).collect();
        Ok(Stack { stack, stations, numbers, under_way: HashMap::new(), has_aql })
    }

    /// The station of a number.
    pub(super) fn station(&self, line: usize, number: u32) -> Result<StationId, Fault> {
        let known = self.stations.get(&number).copied();
        known.ok_or_else(|| Fault::at(line, format!("sta={number}: no such station is ever added")))
    }

    /// A queue as the file writes it.
    pub(super) fn txq_name(&self, txq: TxqId, sign: [&str; 2]) -> String {
        let number = txq.station().map_or(0, |station| self.numbers[station.0 as usize]);
        format!("{}{number}{}{}", sign[0], sign[1], txq.tid().number())
    }

    fn read_station(&self, fields: &mut Fields<'_>) -> Result<StationId, Fault> {
        let number = fields.named("sta")?;
        self.station(fields.line, number)
    }

    fn read_txq(&self, fields: &mut Fields<'_>) -> Result<TxqId, Fault> {
        let (number, tid) = (fields.named("sta")?, fields.named("tid")?);
        self.txq(fields.line, number, tid)
    }

    pub(super) fn txq(&self, line: usize, number: u32, tid: u8) -> Result<TxqId, Fault> {
        let tid = Tid::new(tid).ok_or_else(|| Fault::at(line, "tid: above 15"))?;
        if number == 0 {
            return Ok(TxqId::multicast(InterfaceId(0)));
        }
        Ok(TxqId::new(self.station(line, number)?, tid))
    }

    /// Makes the call of a record; its results go to `results`, as records. Questions are not calls.
    pub(super) fn call(
        &mut self,
        now: Nanos,
        fields: &mut Fields<'_>,
        results: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let line = fields.line;
        match fields.kind {
            "STA" => {
                let station = self.read_station(fields)?;
                self.stack.add_station(station, InterfaceId(0)).map_err(refused(line))
            }
            "DEL" => {
                let station = self.read_station(fields)?;
                self.stack.remove_station(now, station, &mut Collect(results)).map_err(refused(line))
            }
            "THR" => {
                let (station, kbps) = (self.read_station(fields)?, fields.named("kbps")?);
                self.stack.expected_throughput(station, kbps).map_err(refused(line))
            }
            "E" => self.enqueue(now, fields, results),
            "D" => self.dequeue(now, fields, results),
            "STOP" => {
                let txq = self.read_txq(fields)?;
                self.stack.agg_stop_txq(txq).map_err(refused(line))
            }
            "START" => {
                let txq = self.read_txq(fields)?;
                fields.switch("ampdu")?;
                self.stack.agg_start_txq(now, txq).map_err(refused(line))
            }
            "C" => self.change(fields),
            "WEIGHT" => {
                let (station, weight) = (self.read_station(fields)?, fields.named("w")?);
                match self.stack.set_weight(station, weight) {
                    // Linux passes over a weight of 0.
                    Ok(()) | Err(WifiError::Weight(0)) => Ok(()),
                    Err(error) => Err(refused(line)(error)),
                }
            }
            "RATE" => {
                let (station, rate) = (self.read_station(fields)?, rate(fields)?);
                self.stack.set_rate_as_reported(station, rate).map_err(refused(line))
            }
            "PS" => {
                let (station, sleeps) = (self.read_station(fields)?, fields.switch("on")?);
                let done = if sleeps {
                    self.stack.sta_ps_start(station)
                } else {
                    self.stack.sta_ps_end(now, station)
                };
                done.map_err(refused(line))
            }
            _ => self.schedule(now, fields, results),
        }
    }

    /// Calls to the scheduler and to what it counts.
    fn schedule(
        &mut self,
        now: Nanos,
        fields: &mut Fields<'_>,
        results: &mut Vec<String>,
    ) -> Result<(), Fault> {
        match fields.kind {
            "SCHED" => {
                let round = self.stack.schedule_start(read_ac(fields)?);
                results.push(format!("A round={round}"));
            }
            "NEXT" => {
                let found = self.stack.next_txq(read_ac(fields)?);
                let name = found.map_or("none".to_string(), |txq| self.txq_name(txq, ["sta=", " tid="]));
                results.push(format!("T {name}"));
            }
            "RET" => {
                let (txq, force) = (self.read_txq(fields)?, fields.switch("force")?);
                self.stack.return_txq(now, txq, force);
            }
            "WAKE" => {
                let txq = self.read_txq(fields)?;
                self.stack.schedule_txq(now, txq);
            }
            "MAY" => {
                let may = self.stack.may_transmit(self.read_txq(fields)?);
                results.push(format!("B {}", u8::from(may)));
            }
            "AIRTIME" => {
                let (station, tid) = (self.read_station(fields)?, fields.named("tid")?);
                let tid = Tid::new(tid).ok_or_else(|| fields.fault("tid: above 15"))?;
                self.stack.register_airtime(now, station, tid, fields.named("tx")?, fields.named("rx")?);
            }
            "PEND" => {
                while !fields.is_at_end() {
                    let id: u64 = fields.number("id")?;
                    let packet = self.under_way.remove(&id);
                    let packet =
                        packet.ok_or_else(|| fields.fault(format!("packet {id} is not under way")))?;
                    if let Some((station, ac, estimate)) = packet {
                        self.stack.tx_completed(station, ac, estimate);
                    }
                }
            }
            other => return Err(fields.fault(format!("unknown record `{other}`"))),
        }
        Ok(())
    }

    fn enqueue(
        &mut self,
        now: Nanos,
        fields: &mut Fields<'_>,
        results: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let packet = Header {
            cookie: fields.number("id")?,
            flow_hash: fields.number("hash")?,
            len: fields.number("len")?,
            truesize: fields.number("truesize")?,
            dsfield: fields.number("ecn")?,
        };
        let txq = self.read_txq(fields)?;
        self.stack.enqueue(now, txq, packet, &mut Collect(results));
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Nanos,
        fields: &mut Fields<'_>,
        results: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let txq = self.read_txq(fields)?;
        let held = self.stack.held(txq);
        let Some(delivered) = self.stack.tx_dequeue(now, txq, &mut Collect(results)) else {
            let why = match held {
                Some(Held::Aql) => "aql",
                Some(Held::Stopped) => "stop",
                None => "empty",
            };
            results.push(format!("N {why}"));
            return Ok(());
        };
        let (id, ecn) = (delivered.packet.cookie, delivered.packet.dsfield & 3);
        let mut result = format!("P {id} {ecn}");
        let packet = txq.station().map(|station| (station, txq.ac(), delivered.estimate));
        self.under_way.insert(id, packet);
        if self.has_aql && packet.is_some() {
            result.push_str(&format!(" est={}", delivered.estimate.micros()));
        }
        results.push(result);
        Ok(())
    }

    fn change(&mut self, fields: &mut Fields<'_>) -> Result<(), Fault> {
        let line = fields.line;
        let mut params = *self.stack.params();
        let (mut station, mut ac, mut low, mut high) = (None, None, None, None);
        for entry in fields.entries()? {
            match entry.key {
                "sta" => station = Some(self.station(line, entry.number()?)?),
                "aql_ac" => ac = Some(ac_of(line, entry.number()?)?),
                "aql_low" => low = Some(entry.number()?),
                "aql_high" => high = Some(entry.number()?),
                "limit" => params.limit = entry.number()?,
                "memory_limit" => params.memory_limit = entry.number()?,
                "quantum" => params.quantum = entry.number()?,
                "aql_threshold" => params.aql_threshold = Span::from_micros(entry.number()?),
                "aql_enable" => params.aql_enable = entry.number::<u8>()? != 0,
                "airtime_flags" => flags(&mut params, entry.number()?),
                key => return Err(Fault::at(line, format!("unknown parameter `{key}`"))),
            }
        }
        match (station, ac, low, high) {
            (Some(station), Some(ac), Some(low), Some(high)) => {
                self.stack.set_aql_limit(station, ac, AqlLimits { low, high }).map_err(refused(line))
            }
            (None, Some(ac), Some(low), Some(high)) => {
                params.set_aql_limits(ac, AqlLimits { low, high });
                self.stack.configure(params).map_err(refused(line))
            }
            (None, None, None, None) => self.stack.configure(params).map_err(refused(line)),
            _ => Err(Fault::at(line, "AQL limits are aql_ac, aql_low and aql_high")),
        }
    }
}

fn flags(params: &mut WifiParams, flags: u8) {
    (params.airtime_tx, params.airtime_rx) = (flags & 1 != 0, flags & 2 != 0);
}

fn ac_of(line: usize, index: usize) -> Result<Ac, Fault> {
    Ac::ALL.get(index).copied().ok_or_else(|| Fault::at(line, "an access category is 0 to 3"))
}

fn read_ac(fields: &mut Fields<'_>) -> Result<Ac, Fault> {
    let index = fields.named("ac")?;
    ac_of(fields.line, index)
}

/// A key of the header.
fn set(params: &mut WifiParams, capacity: &mut Capacity, entry: &Entry<'_>) -> Result<(), Fault> {
    let is_on = || entry.number::<u8>().map(|value| value != 0);
    match entry.key {
        "hz" => params.hz = entry.number()?,
        "fq_flows" => capacity.flows = entry.number()?,
        "fq_limit" => params.limit = entry.number()?,
        "fq_memory_limit" => params.memory_limit = entry.number()?,
        "fq_quantum" => params.quantum = entry.number()?,
        "band" => params.band = band_of(entry.line, entry.number()?)?,
        "aql" => params.aql = is_on()?,
        "airtime_fairness" => params.airtime_fairness = is_on()?,
        "airtime_flags" => flags(params, entry.number()?),
        "aql_threshold" => params.aql_threshold = Span::from_micros(entry.number()?),
        "aql_limit_low" | "aql_limit_high" => {
            let limit = PerAc([entry.number()?; 4]);
            match entry.key {
                "aql_limit_low" => params.aql_limit_low = limit,
                _ => params.aql_limit_high = limit,
            }
        }
        key => return Err(Fault::at(entry.line, format!("unknown header key `{key}`"))),
    }
    Ok(())
}

/// The rate of a RATE record; `None` for `enc=none`.
fn rate(fields: &mut Fields<'_>) -> Result<Option<RateInfo>, Fault> {
    Ok(Some(match fields.named_text("enc")? {
        "none" => return Ok(None),
        "legacy" => RateInfo::Legacy { rate: fields.named("bitrate")? },
        "ht" => {
            RateInfo::Ht { mcs: fields.named("mcs")?, width: width(fields)?, short_gi: fields.switch("sgi")? }
        }
        "vht" => RateInfo::Vht {
            mcs: fields.named("mcs")?,
            nss: fields.named("nss")?,
            width: width(fields)?,
            short_gi: fields.switch("sgi")?,
        },
        "he" => {
            let (mcs, nss) = (fields.named("mcs")?, fields.named("nss")?);
            let (width, gi) = (width(fields)?, fields.named("gi")?);
            let gi = he_gi(gi).ok_or_else(|| fields.fault("gi: above 2"))?;
            RateInfo::He { mcs, nss, width, gi }
        }
        other => return Err(fields.fault(format!("unknown encoding `{other}`"))),
    }))
}

fn width(fields: &mut Fields<'_>) -> Result<Width, Fault> {
    let mhz = fields.named("bw")?;
    Width::from_mhz(mhz).ok_or_else(|| fields.fault(format!("bw: no channel has {mhz} MHz")))
}
