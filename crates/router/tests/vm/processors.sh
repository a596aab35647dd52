# The doctor on cards of a machine with two processors. Time here is that of the host, so nothing is measured.

for module in e1000 vmxnet3; do modprobe $module; done
echo fq_codel >/proc/sys/net/core/default_qdisc
settings=/proc/sys/net/core/default_qdisc
named_by_driver
cards="e1000 vmxnet3"
mkdir -p /run/netns
ip netns add far
ip addr add 10.1.1.1/24 dev e1000; ip link set e1000 up; ip link set vmxnet3 up
ip link set e10001 netns far
ip -n far addr add 10.1.1.2/24 dev e10001; ip -n far link set e10001 up
# Packets to these hosts arrive at the card, and go no further.
hosts=$(seq 10 41)
for host in $hosts; do
  ip -n far neigh add "10.1.1.$host" lladdr "$(cat /sys/class/net/e1000/address)" dev e10001
done
sleep 3
for dev in $cards; do finds "two processors" "" $dev; done

# processed: the packets that each processor has taken
processed() { while read -r packets rest; do echo $((0x$packets)); done </proc/net/softnet_stat; }
# took: of 320 packets of 32 flows, those that each processor takes, the fewer first
took() {
  processed >/tmp/processed
  for host in $hosts; do ip netns exec far ping -q -c 1 -W 1 -s 14000 "10.1.1.$host" >/dev/null 2>&1 & done
  wait
  processed | paste - /tmp/processed | awk '{ print $1 - $2 }' | sort -n | tr '\n' ' '
}
rps=/sys/class/net/e1000/queues/rx-0/rps_cpus
settings=$rps
tc qdisc replace dev e1000 root cake bandwidth 50mbit
alone=$(took)
by_hand one-processor e1000
both=$(took)
ok "doctor: one-processor: the two take $alone packets, and $both with the mask" \
  test "${alone%% *}" -lt 16 -a "${both%% *}" -gt 64
tc qdisc del dev e1000 root
echo 0 >$rps

# Hardware queues, of which each has the default: a FIFO, and none.
settings=/proc/sys/net/core/default_qdisc
anew() { ip link set vmxnet3 down; rmmod vmxnet3; echo "$1" >$settings; modprobe vmxnet3; named_by_driver; ip link set vmxnet3 up; }
anew pfifo_fast
finds "FIFOs under mq" "fifo default-qdisc" vmxnet3
fixes fifo 0 vmxnet3
anew noqueue
finds "no queues under mq" "no-queue default-qdisc" vmxnet3
fixes no-queue 1 vmxnet3
