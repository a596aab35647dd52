# Times of an interface's hardware, as a real kernel hands them from a driver to a program: the interfaces are
# those of `card.c`. Packets wait 20 ms in a queue of this machine's own interface, which the hardware does
# not see.

insmod /job/card.ko
mkdir -p /run/netns
ip netns add far
ip link set card1 netns far
ip addr add 10.0.9.1/24 dev card0; ip link set card0 up
ip -n far addr add 10.0.9.2/24 dev card1; ip -n far link set card1 up; ip -n far link set lo up
tc qdisc add dev card0 root netem delay 20ms
ip netns exec far goodqueue server --quiet >/tmp/server 2>&1 &
probe() { goodqueue probe 10.0.9.2 --interval 10ms --length 2s "$@"; }
for try in 1 2 3 4 5 6 7 8 9 10; do
  probe --length 100ms --quiet >/tmp/probe 2>&1 && break
  sleep 0.2
done
# median FIELD: of the figures in /tmp/figures, ns; empty if they are not there
median() { tr -d ' \n' </tmp/figures | sed -nE "s/.*\"$1\":\{[^}]*\"median\":([0-9]+).*/\1/p"; }
# below MOST VALUE, and above LEAST VALUE; an empty value is neither
below() { [ -n "$2" ] && [ "$2" -lt "$1" ] || { echo "'$2' is not below $1"; cat /tmp/err; return 1; }; }
above() { [ -n "$2" ] && [ "$2" -ge "$1" ] || { echo "'$2' is not above $1"; cat /tmp/err; return 1; }; }
# no_row: what was said has no times of the hardware
no_row() { cat /tmp/said; [ -s /tmp/said ] && ! grep -q 'at the interface' /tmp/said; }

probe >/tmp/said 2>&1
ok "stamps: an interface that was not asked to stamp has no row" no_row
hwstamp_ctl -i card0 -t 1 -r 1 >/tmp/hwstamp 2>&1
ok "stamps: the interface can stamp, and was asked to" grep -q 'tx_type 1' /tmp/hwstamp
probe --json >/tmp/figures 2>/tmp/err
ok "stamps: the kernel's round trip has the queue of this machine ($(median rtt) ns)" above 20000000 "$(median rtt)"
ok "stamps: that of the hardware has not ($(median rtt_hardware) ns)" below 5000000 "$(median rtt_hardware)"
ok "stamps: the table says how much this machine adds" ends 0 'this machine itself takes 2[0-9]\.[0-9]* ms' probe
