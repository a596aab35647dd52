# An emulated path of ours beside netem and TBF, for docs/performance.md: 20 ms of round trip and a FIFO of
# 100 packets, a line for each rate. It checks nothing.

ip netns add client; ip netns add router; ip netns add server
ip link add eth0 netns client type veth peer name left netns router
ip link add eth0 netns server type veth peer name right netns router
for end in client server; do ip -n $end link set lo up; ip netns exec $end ethtool -K eth0 tx off tso off gso off gro off >/dev/null 2>&1; done
for dev in left right; do ip -n router link set $dev up; ip netns exec router ethtool -K $dev tso off gso off gro off >/dev/null 2>&1; done
ip netns exec router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6'
for mbit in 1 10 100 500; do
  # Ours: a bridge, so both ends are in one network. Not the function `ip`, whose process would not pass
  # SIGINT on.
  ip -n client addr add 10.9.0.1/24 dev eth0; ip -n client link set eth0 up
  ip -n server addr add 10.9.0.2/24 dev eth0; ip -n server link set eth0 up
  /bin/ip netns exec router goodqueue bridge left right --rate ${mbit}mbit --rtt 20ms --queue pfifo:100 >/tmp/bridge 2>&1 &
  bridge=$!
  sleep 1.5
  ip netns exec client ping -q -c 2 10.9.0.2 >/dev/null  # their addresses are known then
  echo "  $mbit Mbit/s, goodqueue bridge: $(/job/paths client server 10.9.0.2 ${mbit}000000 10000 2>&1)"
  kill -INT $bridge; wait $bridge
  sed -n 's/^this was not the link that you asked for: /    it says: /p' /tmp/bridge
  # Theirs: the router forwards. TBF's bucket is what its rate brings in 4 ms, and one packet at least.
  burst=$((mbit * 1000000 / 8 / 250)); [ $burst -ge 1514 ] || burst=1514
  ip -n client addr flush dev eth0; ip -n server addr flush dev eth0
  ip -n client addr add 10.9.1.2/24 dev eth0; ip -n router addr add 10.9.1.1/24 dev left
  ip -n server addr add 10.9.2.2/24 dev eth0; ip -n router addr add 10.9.2.1/24 dev right
  ip -n client route add default via 10.9.1.1; ip -n server route add default via 10.9.2.1
  for dev in left right; do
    ip netns exec router /bin/tc qdisc add dev $dev root handle 1: netem delay 10ms limit 100000
    ip netns exec router /bin/tc qdisc add dev $dev parent 1:1 handle 2: tbf rate ${mbit}mbit burst $burst limit 151400
  done
  ip netns exec client ping -q -c 2 10.9.2.2 >/dev/null
  echo "  $mbit Mbit/s, netem and tbf, burst $burst: $(/job/paths client server 10.9.2.2 ${mbit}000000 10000 2>&1)"
  for dev in left right; do ip netns exec router /bin/tc qdisc del dev $dev root; ip -n router addr flush dev $dev; done
  ip -n client route del default; ip -n server route del default
  ip -n client addr flush dev eth0; ip -n server addr flush dev eth0
done
