# `shape` on a router that translates addresses: two hosts behind it, one with one upload and one with eight.
# `cake` with `nat` gives each host half of the line; without it all are one host, and each flow gets the
# same.

# Without the module, which the kernel otherwise loads by itself.
modem
mv /sbin/modprobe /sbin/loads
shown >/tmp/before
fair="goodqueue shape wan0 --up 4500kbit --down 9mbit --queue cake,isolation=dual-srchost,nat=on"
ok "nat: without connection tracking, exit code 3 names the module" ends 3 'modprobe nf_conntrack_netlink' $fair --length 1s
shown >/tmp/after
ok "nat: nothing was touched" same /tmp/before /tmp/after
mv /sbin/loads /sbin/modprobe
for module in nf_conntrack_netlink nft_chain_nat nft_masq; do modprobe $module; done
for host in 1 2; do
  ip netns add host$host
  ip link add lan$host type veth peer name eth0 netns host$host
  ip addr add 10.3.$host.1/24 dev lan$host; ip link set lan$host up
  ip -n host$host addr add 10.3.$host.2/24 dev eth0; ip -n host$host link set eth0 up; ip -n host$host link set lo up
  ip -n host$host route add default via 10.3.$host.1
done
echo 1 >/proc/sys/net/ipv4/ip_forward
nft 'table ip nat { chain post { type nat hook postrouting priority 100; oifname "wan0" masquerade; }; }'
ok "nat: the hosts reach the server by translation alone" ip netns exec host1 ping -c 1 10.0.2.2
echo 0 >/proc/sys/net/netfilter/nf_conntrack_events
ok "nat: without events, exit code 3 names the setting" ends 3 'net.netfilter.nf_conntrack_events=1' $fair --length 1s
echo 1 >/proc/sys/net/netfilter/nf_conntrack_events
ok "nat: without the right, exit code 3 names it" ends 3 CAP_NET_ADMIN with +net_raw $fair --length 1s

# share up|down: what host 1 with its one flow gets of both hosts' bytes in 6 s, %. Host 2 has eight.
share() {
  case $1 in up) count=rx ;; down) count=tx ;; esac
  for host in 1 2; do
    case $host in 1) test=tcp_1$1 ;; 2) test=tcp_8$1 ;; esac
    ip netns exec host$host goodqueue test 10.0.2.2 --key $key "$test" --length 12s --idle 1s --quiet >/tmp/host$host 2>&1 &
    eval host$host=$!
  done
  sleep 6
  sum() { cat /sys/class/net/lan$1/statistics/${count}_bytes; }
  first=$(sum 1) second=$(sum 2)
  sleep 6
  first=$(($(sum 1) - first)) second=$(($(sum 2) - second))
  wait $host1 $host2
  echo $((100 * first / (first + second)))
}
# between LEAST VALUE MOST
between() { [ "$2" -ge "$1" ] && [ "$2" -le "$3" ] || { echo "$2 is not within $1 to $3"; cat /tmp/host1 /tmp/host2 /tmp/shape.err; return 1; }; }
takes() { goodqueue shape wan0 --up 4500kbit --down 9mbit --queue "$1" >/tmp/shaped 2>/tmp/shape.err & shape=$!; sleep 1.5; }
ends_well() { kill -INT "$shape"; wait "$shape"; }
shown >/tmp/before
for way in up down; do
  case $way in up) hosts=dual-srchost ;; down) hosts=dual-dsthost ;; esac
  # With the usual target one connection often has nothing waiting, and leaves a part of its half to the other
  # host (36 % in the kernel's cake and in ours). With this one it always has.
  queue=cake,rtt=1s,isolation=$hosts
  takes $queue,nat=on; ours=$(share $way); ends_well
  goodqueue sqm wan0 --up 4500kbit --down 9mbit --queue $queue,nat=on --quiet
  theirs=$(share $way); goodqueue sqm stop wan0 --quiet
  takes $queue; flows=$(share $way); ends_well
  ok "nat: $way, one flow beside eight of another host: $ours % (the kernel's cake: $theirs %)" between 45 "$ours" 55
  ok "nat: $way, without nat: $flows %, a share by flow" between 8 "$flows" 15
done

# answers BYTES: of 15 pings of host 1 with so many bytes, the answers that it gets, while host 2 sends more
# such pings than the line takes. No ping has ports.
answers() {
  for n in 1 2 3 4; do ip netns exec host2 ping -q -s "$1" -i 0.01 10.0.2.2 >/dev/null & eval ping$n=$!; done
  sleep 1
  ip netns exec host1 ping -q -s "$1" -c 15 -i 0.2 -W 1 10.0.2.2 >/tmp/host1 2>&1
  kill $ping1 $ping2 $ping3 $ping4; wait $ping1 $ping2 $ping3 $ping4
  sed -nE 's/.* ([0-9]+) packets received.*/\1/p' /tmp/host1
}
echo 0 >/tmp/host2
queue=cake,isolation=dual-srchost
for bytes in 1400 2800; do
  case $bytes in 1400) pings=pings ;; *) pings="pings in fragments" ;; esac
  takes $queue,nat=on; ours=$(answers $bytes); ends_well
  goodqueue sqm wan0 --up 4500kbit --down 9mbit --queue $queue,nat=on --quiet
  theirs=$(answers $bytes); goodqueue sqm stop wan0 --quiet
  takes $queue; without=$(answers $bytes); ends_well
  ok "nat: $pings, $ours of 15 beside a host that floods (the kernel's cake: $theirs)" between 14 "$ours" 15
  ok "nat: $pings, without nat: $without of 15" between 0 "$without" 12
done
shown >/tmp/after
ok "nat: everything is back" same /tmp/before /tmp/after
