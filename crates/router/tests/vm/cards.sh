# The doctor on cards of QEMU with their drivers, and on those of `card.c`: rings, interrupts and offloads.

for module in e1000 e1000e e100 pcnet32 8139cp vmxnet3 virtio_pci virtio_net; do modprobe $module; done
insmod /job/card.ko
echo fq_codel >/proc/sys/net/core/default_qdisc
settings=/proc/sys/net/core/default_qdisc
named_by_driver
cards="e1000 e1000e 8139cp vmxnet3 virtio_net e100 pcnet32 card0"
mkdir -p /run/netns
ip netns add far
# Host 2 is at the other end of two cables, and host 3 is nowhere.
net=0
for dev in $cards; do
  net=$((net + 1))
  ip addr add "10.1.$net.1/24" dev "$dev"; ip link set "$dev" up
  ip neigh add "10.1.$net.3" lladdr 02:00:00:00:00:03 dev "$dev"
done
far() { ip link set "$2" netns far; ip -n far addr add "10.1.$1.2/24" dev "$2"; ip -n far link set "$2" up; }
far 1 e10001
far 8 card1
# flood NET: some 1200 packets to nobody
flood() { ping -q -c 30 -i 0.01 -W 1 -s 60000 "10.1.$1.3" >/tmp/out; }
# wait_of NET: how long a round trip takes in the mean, us
wait_of() { ping -q -c 20 -i 0.1 -W 2 "10.1.$1.2" | sed -n 's/^round-trip.*= [^/]*\/\([0-9.]*\).*/\1/p' | awk '{ print int($1 * 1000) }'; }
sleep 3

# Nothing is wrong with any of them, but two drivers have no byte queue limits, and that is seen once they
# have sent.
for dev in $cards; do finds "before it has sent" "" $dev; done
net=0
for dev in $cards; do
  net=$((net + 1))
  flood $net
  sent=$(cat "/sys/class/net/$dev/statistics/tx_packets")
  ok "doctor: $dev has sent $sent packets" test "$sent" -gt 1000
done
for dev in e1000 e1000e 8139cp vmxnet3 virtio_net; do finds "after 1000 packets" "" $dev; done
for dev in e100 pcnet32; do finds "no byte queue limits, and a short ring" bql-absent $dev; done
# The driver begins anew with each ring: the link comes back, and its limit of bytes is 0 until it has sent.
ethtool -G e1000 tx 4096
sleep 3
flood 1
finds "a long ring with byte queue limits" "" e1000
ethtool -G e1000 tx 256
sleep 3
flood 1
finds "its ring is short again" "" e1000

# A long ring without byte queue limits, and how long a ping waits in it beside packets that go elsewhere.
echo 16777216 >/proc/sys/net/core/wmem_default
ping -q -c 100000 -i 0.003 -s 60000 10.1.8.3 >/tmp/out & other=$!
sleep 2
long=$(wait_of 8)
by_hand ring card0 bql-absent
sleep 1
short=$(wait_of 8)
kill $other; wait $other 2>/dev/null
ok "doctor: ring: a ping waits $long us with a ring of 4096 packets, and $short us with one of 256" \
  test "$long" -gt $((short * 8))

# Interrupts that wait.
for dev in e1000 e1000e; do
  ethtool -C $dev rx-usecs 9000
  by_hand interrupts $dev
done

# No queue above the ring: somebody has taken it away, or the default has none.
tc qdisc replace dev e1000 root noqueue
fixes no-queue 1 e1000
tc qdisc del dev e1000 root
ip link set e1000e down; rmmod e1000e
echo noqueue >/proc/sys/net/core/default_qdisc
modprobe e1000e
named_by_driver; ip link set e1000e up
finds "no queue by default" "no-queue default-qdisc" e1000e
fixes no-queue 1 e1000e
echo fq_codel >/proc/sys/net/core/default_qdisc
ip link set e1000e down; rmmod e1000e; modprobe e1000e
named_by_driver; ip link set e1000e up

# Super-packets: what was on comes back, and nothing else.
for dev in e1000 e1000e vmxnet3 8139cp; do
  tc qdisc replace dev $dev root tbf rate 30mbit burst 30k latency 30ms
  by_hand super-packets $dev
  tc qdisc del dev $dev root
done

# Byte queue limits that somebody has set to nothing: the driver has them all the same.
bql=/sys/class/net/e1000/queues/tx-0/byte_queue_limits
echo 0 >$bql/limit_max
flood 1
finds "limit_max of 0" bql-limit e1000
settings="$settings $bql/limit_max"
state >/tmp/sick
found bql-limit 0 e1000
ok "doctor: bql-limit: fixed" ends 0 '  fixed' goodqueue doctor --fix --yes e1000
flood 1
finds "bql-limit is fixed" "" e1000
ok "doctor: bql-limit: undo" ends 0 'again' goodqueue doctor --undo
state >/tmp/well
ok "doctor: bql-limit: everything is as it was" same /tmp/sick /tmp/well
echo 1879048192 >$bql/limit_max
