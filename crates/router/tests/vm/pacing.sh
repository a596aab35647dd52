# The processor time of a host whose uploads use BBR, above queues that pace and that do not, for
# docs/doctor.md: the share that is not idle of one processor whose instructions take 1 ns each. Both ends and
# the line share it, so only differences say something. It checks nothing.

for module in tcp_bbr sch_fq; do modprobe $module; done
echo bbr >/proc/sys/net/ipv4/tcp_congestion_control
ip netns add line; ip netns add server
ip link add out0 type veth peer name lan0 netns line
ip -n line link add wan0 type veth peer name in0 netns server
ip addr add 10.0.1.1/24 dev out0; ip link set out0 up; ip route add default via 10.0.1.2
ip -n line addr add 10.0.1.2/24 dev lan0; ip -n line link set lan0 up
ip -n line addr add 10.0.2.2/24 dev wan0; ip -n line link set wan0 up
ip -n server addr add 10.0.2.1/24 dev in0; ip -n server link set in0 up; ip -n server route add default via 10.0.2.2
ip netns exec line sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
ip netns exec server /bin/tc qdisc add dev in0 root netem delay 20ms limit 10000
idle() { cut -d' ' -f2 /proc/uptime; }
for rate in 20mbit 100mbit 500mbit; do
  ip netns exec line /bin/tc qdisc replace dev wan0 root tbf rate $rate burst 64k latency 50ms
  for flows in 1 8 32; do
    for queue in pfifo_fast fq_codel fq; do
      tc qdisc replace dev out0 root $queue
      ip netns exec server /job/load 0 10.0.1.1 1 16 >/tmp/received &
      sleep 0.1
      /job/load $flows 10.0.2.1 2 15 >/tmp/sent &
      sleep 5
      before=$(idle); sleep 10; after=$(idle)
      wait
      awk -v before="$before" -v after="$after" -v what="$rate, $flows flows, $queue" \
        '{ bytes += $1 }
        END { printf "  %s: busy %.2f %%, %.1f Mbit/s\n", what, (10 - (after - before)) * 10, bytes * 8 / 10e6 }' /tmp/received
    done
  done
done
