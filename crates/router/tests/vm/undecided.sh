# More runs of the kernel for the cases of docs/truth.md that three runs leave undecided: the topology of
# vectors/truth, with its load. A line for each run: the median of pings above the base, ms; Jain's index of
# the downloads; how much of their line is used, %; drops and retransmissions up and down; when the uploads
# and the downloads connected, seconds after the load's start. It checks nothing. GOODQUEUE_VM_CASE=NAME runs
# only this case.

ip netns add cli; ip netns add rtr; ip netns add mid; ip netns add srv
ip link add c0 netns cli type veth peer name r0 netns rtr
ip link add r1 netns rtr type veth peer name m0 netns mid
ip link add m1 netns mid type veth peer name s0 netns srv
address() { ip -n $1 addr add $3 dev $2; ip -n $1 link set $2 up; ip netns exec $1 ethtool -K $2 tso off gso off gro off >/dev/null 2>&1; }
address cli c0 10.0.1.1/24; address rtr r0 10.0.1.2/24; address rtr r1 10.0.2.1/24
address mid m0 10.0.2.2/24; address mid m1 10.0.3.1/24; address srv s0 10.0.3.2/24
ip -n cli route add default via 10.0.1.2; ip -n srv route add default via 10.0.3.1
ip -n rtr route add 10.0.3.0/24 via 10.0.2.2; ip -n mid route add 10.0.1.0/24 via 10.0.2.1
for router in rtr mid; do ip netns exec $router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'; done
for end in cli srv; do
  ip netns exec $end sh -c 'echo 0 >/proc/sys/net/ipv4/tcp_ecn; echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'
done
# shaped DEV MBIT QUEUE...
shaped() {
  dev=$1 mbit=$2; shift 2
  ip netns exec rtr /bin/tc qdisc replace dev $dev root handle 1: htb default 1
  ip netns exec rtr /bin/tc class add dev $dev parent 1: classid 1:1 htb rate ${mbit}mbit ceil ${mbit}mbit \
    burst 1514 cburst 1514 quantum 1514
  ip netns exec rtr /bin/tc qdisc add dev $dev parent 1:1 handle 10: "$@"
}
dropped() { ip netns exec rtr /bin/tc -s qdisc show dev $1 | awk '/qdisc .* 10:/ { on = 1 } on && /dropped/ { print $7 + 0; exit }'; }
sent() { ip netns exec rtr /bin/tc -s qdisc show dev $1 | awk '/qdisc .* 10:/ { on = 1 } on && /Sent/ { print $2; exit }'; }
retransmitted() { ip netns exec $1 awk '/^Tcp:/ && $2 != "RtoAlgorithm" { print $13 }' /proc/net/snmp; }
uptime() { cut -d' ' -f1 /proc/uptime; }
# drawn WORDS: a seed of 32 bits. With seeds next to each other, each upload would start at the same distance
# from a download in all runs.
drawn() { echo $((0x$(echo "$@" | md5sum | cut -c1-8))); }
ran=
# runs NAME UP DOWN RTT QUEUE...
runs() {
  name=$1 up=$2 down=$3 rtt=$4; shift 4
  [ "${only:-$name}" = "$name" ] || return 0
  ran=yes
  for end in m0 m1; do
    ip netns exec mid /bin/tc qdisc replace dev $end root netem delay $((rtt * 500))us limit 200000
  done
  for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    for dev in r0 r1; do ip netns exec rtr /bin/tc qdisc del dev $dev root 2>/dev/null; done
    shaped r1 $up "$@"; shaped r0 $down "$@"
    ip netns exec cli ping -q -c 3 -i 0.1 10.0.3.2 >/dev/null
    before_up=$(retransmitted cli) before_down=$(retransmitted srv)
    # As in vectors/truth, pings begin a second before the load, and both ends send them.
    start=$(awk '{ print $1 + 1 }' /proc/uptime)
    ip netns exec cli ping -i 0.05 -w 31 10.0.3.2 >/tmp/pings &
    pings=$!
    ip netns exec srv ping -i 0.05 -w 31 10.0.1.1 >/dev/null &
    others=$!
    ip netns exec srv /job/load 4 10.0.1.1 $(drawn down $seed) 30 $start >/tmp/up.bytes 2>/tmp/down.starts &
    server=$!
    ip netns exec cli /job/load 4 10.0.3.2 $(drawn up $seed) 30 $start >/tmp/down.bytes 2>/tmp/up.starts &
    client=$!
    sleep 6
    from="$(sent r0) $(uptime)"
    wait $server $client
    to="$(sent r0) $(uptime)"
    wait $pings $others
    sed -nE 's/.*seq=([0-9]+) .*time=([0-9.]+) ms/\1 \2/p' /tmp/pings | awk '$1 > 120 { print $2 }' | sort -n >/tmp/sorted
    median=$(awk -v rtt=$rtt '{ all[NR] = $1 } END { printf "%.1f", all[int((NR + 1) / 2)] - rtt }' /tmp/sorted)
    jain=$(awk '{ sum += $1; squares += $1 * $1 } END { printf "%.2f", sum * sum / NR / squares }' /tmp/down.bytes)
    use=$(echo "$from $to" | awk -v mbit=$down '{ printf "%.1f", ($3 - $1) * 8 / ($4 - $2) / mbit / 1e4 }')
    echo "  $name: median $median, Jain $jain, use $use, drops $(dropped r1) $(dropped r0)," \
      "retransmissions $(($(retransmitted cli) - before_up)) $(($(retransmitted srv) - before_down))," \
      "starts up" $(cat /tmp/up.starts), down $(cat /tmp/down.starts)
  done
}
# flent's square wave: flows that begin and stop at fixed times, one way, with pings each 20 ms.
square() {
  [ "${only:-flentsquare-m40-r40-pfifo1000}" = flentsquare-m40-r40-pfifo1000 ] || return 0
  ran=yes
  modprobe tcp_bbr
  for end in m0 m1; do ip netns exec mid /bin/tc qdisc replace dev $end root netem delay 20ms limit 200000; done
  ip netns exec rtr /bin/tc qdisc del dev r0 root 2>/dev/null
  for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
    ip netns exec rtr /bin/tc qdisc del dev r1 root 2>/dev/null
    shaped r1 40 pfifo limit 1000
    ip netns exec cli ping -q -c 3 -i 0.1 10.0.3.2 >/dev/null
    start=$(awk '{ print $1 + 1 }' /proc/uptime)
    ip netns exec cli ping -i 0.02 -w 37 10.0.3.2 >/tmp/pings &
    pings=$!
    ip netns exec srv /job/load 0 10.0.1.1 1 36 $start >/tmp/up.bytes &
    server=$!
    ip netns exec cli /job/load bbr:0:18,cubic:3:21,bbr:9:27,cubic:15:33 10.0.3.2 1 36 $start >/dev/null 2>&1
    wait $server $pings
    sed -nE 's/.*seq=([0-9]+) .*time=([0-9.]+) ms/\1 \2/p' /tmp/pings | awk '$1 > 300 { print $2 }' | sort -n >/tmp/sorted
    median=$(awk '{ all[NR] = $1 } END { printf "%.1f", all[int((NR + 1) / 2)] - 40 }' /tmp/sorted)
    echo "  flentsquare-m40-r40-pfifo1000: median $median, drops $(dropped r1), bytes" $(cat /tmp/up.bytes)
  done
}
square
runs rrul-m4d16-r40-codel 4 16 40 codel
runs rrul-m2d30-r20-pfifo1000 2 30 20 pfifo limit 1000
runs rrul-m4d16-r40-pfifo1000 4 16 40 pfifo limit 1000
[ "$ran" ] || echo "FAILED: no case is named $only"
