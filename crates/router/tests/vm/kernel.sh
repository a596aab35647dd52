# The kernel's own queues: `sqm`, `watch` and `doctor`.

ip link add wan0 type veth peer name wan1
ip link set wan0 up
ip link set wan1 up
shown >/tmp/before

module=$(find /lib/modules -name 'sch_cake.ko*')
mv "$module" /tmp/
ok "without the module sch_cake: exit code 3, and the cure" \
  ends 3 'kmod-sched-cake' goodqueue sqm wan0 --up 20mbit --layout piece_of_cake
shown >/tmp/now
ok "without the module sch_cake: nothing was touched" same /tmp/before /tmp/now
ok "without the module sch_cake: htb and fq_codel take its place" \
  ends 0 'this kernel has no cake' goodqueue sqm wan0 --up 20mbit --down 50mbit
ok "stop" ends 0 'default queue again' goodqueue sqm stop wan0
mv /tmp/sch_cake.ko* "$module"

# layout WHAT ARGUMENTS...: our messages do what the commands that we print do, and stop puts everything back
layout() {
  layout=$1; shift
  ok "$layout: starts" ends 0 'test it' goodqueue sqm wan0 "$@"
  shown >/tmp/ours
  ok "$layout: a second time changes nothing" ends 0 'as it was' goodqueue sqm wan0 "$@"
  ok "$layout: status" ends 0 'packets sent' goodqueue sqm status
  ok "$layout: stop" ends 0 'default queue again' goodqueue sqm stop wan0
  shown >/tmp/after
  ok "$layout: stop has put everything back" same /tmp/before /tmp/after
  goodqueue sqm wan0 "$@" --dry-run >/tmp/commands
  sed -i 's|^|/bin/|' /tmp/commands
  ok "$layout: the commands of --dry-run work" sh -e /tmp/commands
  shown >/tmp/theirs
  ok "$layout: the commands of --dry-run do the same" same /tmp/ours /tmp/theirs
  tc qdisc del dev wan0 root; tc qdisc del dev wan0 ingress; ip link del ifb4wan0
} 2>/dev/null
layout piece_of_cake --up 20mbit --down 50mbit
layout layer_cake --up 20mbit --down 50mbit --layout layer_cake --link docsis
layout simple --up 20mbit --down 50mbit --layout simple
layout simplest --up 1500kbit --down 12gbit --layout simplest --link pppoe-llcsnap --mpu 64
layout "cake behind a VLAN tag" --up 4mbit --down 45mbit --link pppoe-ptm,ether-vlan
layout "cake with every option" --up 20mbit --down 50mbit --queue \
  cake:diffserv4,isolation=hosts,nat=on,wash=on,ack-filter=aggressive,split-gso=off,rtt=30ms,overhead=-4,mpu=64,atm=ptm,memlimit=1m,fwmark=255

# Capabilities rather than root, one by one: docs/install.md.
ok "CAP_NET_ADMIN alone: starts" ends 0 'test it' with +net_admin goodqueue sqm wan0 --up 20mbit --down 50mbit
ok "without a right: status" ends 0 'packets sent' with -all goodqueue sqm status
ok "OpenWrt's init script finds the interface in it" \
  test "$(goodqueue sqm status | sed -n 's/^\([^ ]*\): .*/\1/p')" = wan0
ok "without CAP_NET_ADMIN: exit code 3 names it" ends 3 CAP_NET_ADMIN with -all goodqueue sqm wan0 --up 10mbit
ok "without CAP_NET_ADMIN: stop: exit code 3 names it" ends 3 CAP_NET_ADMIN with -all goodqueue sqm stop wan0
ok "CAP_NET_ADMIN alone: stop" ends 0 'default queue again' with +net_admin goodqueue sqm stop wan0
shown >/tmp/after
ok "CAP_NET_ADMIN alone: everything is back" same /tmp/before /tmp/after

# A queue that somebody has set comes back with its parameters.
for queue in "fq_codel limit 321 target 7ms" "fq limit 5000" "tbf rate 30mbit burst 20k latency 30ms" "pfifo limit 77" \
  "cake bandwidth 7mbit diffserv8 nat overhead 9"; do
  tc qdisc replace dev wan0 root handle 5: $queue
  shown >/tmp/own
  goodqueue sqm wan0 --up 20mbit --down 50mbit >/tmp/out 2>&1
  ok "$queue: comes back" ends 0 'again, as before' goodqueue sqm stop wan0
  shown >/tmp/after
  ok "$queue: is what it was" same /tmp/own /tmp/after
  tc qdisc del dev wan0 root
done

# What cannot be put back is not touched.
tc qdisc add dev wan0 root handle 7: htb default 1
tc class add dev wan0 parent 7: classid 7:1 htb rate 3mbit
shown >/tmp/own
ok "a tree of classes: refused, with the cure" ends 2 'tc qdisc del dev wan0 root' goodqueue sqm wan0 --up 20mbit
shown >/tmp/after
ok "a tree of classes: not touched" same /tmp/own /tmp/after
tc qdisc del dev wan0 root
tc qdisc add dev wan0 clsact
ok "filters for what arrives: refused" ends 2 'tc qdisc del dev wan0 clsact' goodqueue sqm wan0 --down 20mbit
tc qdisc del dev wan0 clsact
ip link add ifb4wan0 type ifb
ok "an IFB of sqm-scripts: refused" ends 2 'sqm-scripts' goodqueue sqm wan0 --down 20mbit
ip link del ifb4wan0

# Killed at any moment, the next start finds what was left.
for delay in 0.005 0.01 0.02 0.03 0.05 0.08 0.12 0.2; do
  goodqueue sqm wan0 --up 20mbit --down 50mbit --layout simple --quiet &
  sleep $delay
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  goodqueue sqm wan0 --up 20mbit --down 50mbit >/tmp/restarted 2>&1 || cat /tmp/restarted >>/tmp/killed
  goodqueue sqm stop wan0 >/tmp/stopped 2>&1 || cat /tmp/stopped >>/tmp/killed
  shown >/tmp/after
  diff /tmp/before /tmp/after >>/tmp/killed
done
ok "kill -9 at eight moments: nothing is left after the next start and stop" test ! -s /tmp/killed
[ ! -s /tmp/killed ] || cat /tmp/killed

# Interfaces come and go.
goodqueue sqm wan0 --up 20mbit --down 50mbit >/tmp/out 2>&1
ip link set wan0 down; ip link set wan0 up
ok "link down and up: still in force" ends 0 'up 20mbit' goodqueue sqm status
ip link set wan0 down; ip link set wan0 name wan9; ip link set wan9 up
ok "a new name: still in force" ends 0 'wan9: up 20mbit' goodqueue sqm status
ok "a new name: stop" ends 0 'wan9 has' goodqueue sqm stop wan9
ip link set wan9 down; ip link set wan9 name wan0; ip link set wan0 up
shown >/tmp/after
ok "a new name: everything is back" same /tmp/before /tmp/after
goodqueue sqm wan0 --up 20mbit --down 50mbit >/tmp/out 2>&1
tc qdisc replace dev wan0 root fq_codel
ok "changed by somebody else: exit code 1, and what" ends 1 'wan0 has fq_codel' goodqueue sqm status
ok "changed by somebody else: start fixes it" ends 0 'test it' goodqueue sqm wan0 --up 20mbit --down 50mbit
ip link del wan0
ok "the interface is gone: status says so" ends 1 'is gone' goodqueue sqm status
ip link add lan0 type veth peer name lan1
ok "the interface is gone: the next start cleans up" ends 0 'what was left' goodqueue sqm lan0 --up 20mbit
goodqueue sqm stop lan0 >/dev/null
ok "the interface is gone: its IFB too" test ! -e /sys/class/net/ifb4wan0
# The unit of --systemd: with BindsTo= systemd stops it when the interface goes, with WantedBy= it starts it
# when that comes back.
goodqueue sqm lan0 --up 20mbit --down 50mbit --systemd >/tmp/unit
runs() { sh -c "$(sed -n "s/^$1=//p" /tmp/unit)"; }
ok "a unit: starts" runs ExecStart
ip link del lan0
ok "a unit: its interface goes, and it stops" ends 0 'lan0 is gone' runs ExecStop
ip link add lan0 type veth peer name lan1
ok "a unit: its interface comes back, and it starts" runs ExecStart
ok "a unit: in force again" ends 0 'lan0: up 20mbit' goodqueue sqm status
ip link del lan0; ip link add lan0 type veth peer name lan1
ok "a unit: a new interface is there before it stops" ends 0 'lan0 is gone' runs ExecStop
ok "a unit: and it starts" runs ExecStart
ok "a unit: in force again" ends 0 'lan0: up 20mbit' goodqueue sqm status
ok "a unit: stops" runs ExecStop
ok "a unit: nothing is left" test ! -e /sys/class/net/ifb4lan0

modem
# Is the shaper worth it?
verify() { goodqueue sqm wan0 "$@" --verify 10.0.2.2 --key $key --length 6s --quiet; }
ok "verify: a shaper below the modem's rate is kept" \
  ends 0 'kept: 95% of probes' verify --up 4500kbit --down 9mbit
ok "verify: it is in force" ends 0 'up 4500kbit' goodqueue sqm status
# What a queue does is seen while a download runs.
goodqueue test 10.0.2.2 tcp_download --key $key --length 5s --idle 1s --quiet >/tmp/download 2>&1 &
sleep 3
goodqueue watch ifb4wan0 --json --count 2 --interval 1s >/tmp/watched 2>&1
ok "watch: the shaper's rate, and the flow with a backlog" \
  sh -c 'tail -1 /tmp/watched | grep -E "\"rate_bps\":(8[5-9]|90)[0-9]{5}" | grep -E "\"bulk\":[1-9]"'
ok "watch: a table" ends 0 'cake root' goodqueue watch ifb4wan0 --count 1 --interval 200ms
ok "watch: Prometheus" ends 0 'goodqueue_tin_average_seconds{interface="ifb4wan0"' goodqueue watch --prometheus
ok "watch: an interface that is not there" ends 2 'the interfaces are' goodqueue watch nope --count 1
wait $!
for number in $(seq 1000); do echo "link add w$number type ifb"; done >/tmp/many
ip -batch /tmp/many
uptime_ms() { awk '{print int($1 * 1000)}' /proc/uptime; }
begin=$(uptime_ms)
goodqueue watch --json --count 1 --interval 100ms --idle >/tmp/thousand
took=$(($(uptime_ms) - begin))
# A millisecond is a million instructions here, and 100 ms are the interval. The release takes 210 million for
# a look; the build of the tests takes more.
ok "watch: two looks at 1000 interfaces take $((took - 100)) million instructions (below 800)" test $took -lt 900
ok "watch: none of them is missing" test "$(grep -o '"interface":"w[0-9]' /tmp/thousand | wc -l)" -eq 1000
for number in $(seq 1000); do echo "link del w$number"; done >/tmp/many
ip -batch /tmp/many
goodqueue sqm stop wan0 >/dev/null
ok "verify: a shaper that takes too much is not kept" ends 1 'below 80%' verify --up 4500kbit --down 4mbit
ok "verify: what was there before is back" ends 0 'no interface is shaped' goodqueue sqm status
# Ctrl-C while it tests with the shaper: the first test takes some seconds.
shown >/tmp/before
goodqueue sqm wan0 --up 4500kbit --down 9mbit --verify 10.0.2.2 --key $key --length 3s --quiet >/tmp/verify 2>&1 &
verify=$!
for try in $(seq 80); do
  goodqueue sqm status 2>/dev/null | grep -q 'up 4500kbit' && break
  sleep 0.5
done
ok "verify: the second test has the shaper" ends 0 'up 4500kbit' goodqueue sqm status
sleep 1
kill -INT $verify; wait $verify
ok "verify: Ctrl-C ends it with exit code 130" test $? -eq 130
shown >/tmp/after
ok "verify: Ctrl-C has put everything back" same /tmp/before /tmp/after

# The doctor: a clean machine, then each fault, which is found, fixed and put back.
bql=/sys/class/net/wan0/queues/tx-0/byte_queue_limits
settings="/proc/sys/net/core/default_qdisc /proc/sys/net/ipv4/tcp_ecn $bql/limit_min $bql/limit_max"
echo fq_codel >/proc/sys/net/core/default_qdisc
ok "doctor: a clean machine" ends 0 'nothing found' goodqueue doctor
ok "doctor: a clean machine, as JSON" ends 0 '^\[\]$' goodqueue doctor --json
ok "doctor: no such interface" ends 2 'no interface wan7' goodqueue doctor wan7
ok "doctor: nothing to undo" ends 2 'has changed nothing' goodqueue doctor --undo
for queue in "pfifo limit 77" "bfifo limit 90000" pfifo_fast; do
  tc qdisc replace dev wan0 root handle 5: $queue
  fixes fifo 1
done
ok "doctor: as JSON" ends 1 '"rule":"fifo"' goodqueue doctor wan0 --json
ok "doctor: --fix without a terminal" ends 2 'add --yes' goodqueue doctor --fix
goodqueue doctor --fix --yes >/tmp/out 2>&1
tc qdisc replace dev wan0 root handle 6: fq limit 5000
ok "doctor: changed by somebody else: stays" ends 0 'wan0 has fq: somebody else' goodqueue doctor --undo
ip link set wan0 txqueuelen 5000
tc qdisc replace dev wan0 root handle 5: pfifo_fast
fixes txqueuelen 1
tc qdisc del dev wan0 root
ip link set wan0 txqueuelen 1000
echo 100000000 >$bql/limit_min
fixes bql-limit 0
ok "doctor: --fix in /sys with CAP_NET_ADMIN alone: exit code 3 names the file" \
  ends 3 limit_min with +net_admin goodqueue doctor --fix --yes
ok "doctor: --fix in /sys with CAP_DAC_OVERRIDE too" \
  ends 0 '  fixed' with +net_admin,+dac_override goodqueue doctor --fix --yes
ok "doctor: --undo with both" ends 0 'again' with +net_admin,+dac_override goodqueue doctor --undo
echo 0 >$bql/limit_min
echo 100 >$bql/limit_max
fixes bql-limit 0
echo 1879048192 >$bql/limit_max
echo 0 >/proc/sys/net/ipv4/tcp_ecn
fixes tcp-ecn 0
echo 2 >/proc/sys/net/ipv4/tcp_ecn
echo pfifo_fast >/proc/sys/net/core/default_qdisc
fixes default-qdisc 0
ok "doctor: --fix of a sysctl with CAP_NET_ADMIN alone" ends 0 '  fixed' with +net_admin goodqueue doctor --fix --yes
ok "doctor: --undo of a sysctl with CAP_NET_ADMIN alone" ends 0 'again' with +net_admin goodqueue doctor --undo
# An interface with the kernel's default queue, and one with a queue for each of four hardware queues.
for queues in 1 4; do
  ip link add out0 numtxqueues $queues type ifb; ip link set out0 up; ip route add 0.0.0.0/0 dev out0 metric 9
  fixes fifo 1
  # What it was, although the default is another one by now.
  state >/tmp/sick
  echo fq_codel >/proc/sys/net/core/default_qdisc
  goodqueue doctor --fix --yes >/tmp/out 2>&1
  goodqueue doctor --undo >/tmp/out 2>&1
  echo pfifo_fast >/proc/sys/net/core/default_qdisc
  state >/tmp/well
  ok "doctor: the default of another time comes back" same /tmp/sick /tmp/well
  ip link del out0
done
echo fq_codel >/proc/sys/net/core/default_qdisc

# What only the user can fix.
tc qdisc replace dev wan0 root tbf rate 30mbit burst 30k latency 30ms
found super-packets 0
ok "doctor: super-packets: by hand" ends 0 'only you can do that' goodqueue doctor --fix --yes
ethtool -K wan0 tso off gso off
ok "doctor: without super-packets" ends 0 'nothing found' goodqueue doctor
ethtool -K wan0 tso on gso on
tc qdisc del dev wan0 root
tc qdisc replace dev wan0 root handle 1: htb default 1
tc class add dev wan0 parent 1: classid 1:1 htb rate 20mbit
found super-packets 0
tc qdisc del dev wan0 root
tc qdisc replace dev wan0 root cake bandwidth 12gbit
found shaper-above-line 1
tc qdisc replace dev wan0 root cake bandwidth 20mbit
ok "doctor: a shaper as it should be" ends 0 'nothing found' goodqueue doctor
ip link add link wan0 name wan0.7 type vlan id 7; ip link set wan0.7 up
tc qdisc replace dev wan0.7 root cake bandwidth 20mbit
found double-shaping 0
tc qdisc replace dev wan0.7 root cake bandwidth 5mbit
ok "doctor: a shaper for a part of the traffic" ends 0 'nothing found' goodqueue doctor
# The same where packets arrive: each interface sends them through an IFB with a shaper.
arrives() {
  ip link add "ifb$1" type ifb; ip link set "ifb$1" up
  tc qdisc add dev "$1" handle ffff: ingress
  tc filter add dev "$1" parent ffff: protocol all matchall action mirred egress redirect dev "ifb$1"
  tc qdisc replace dev "ifb$1" root cake bandwidth "$2" ingress
}
tc qdisc del dev wan0 root
arrives wan0 20mbit
arrives wan0.7 5mbit
ok "doctor: a shaper of a part of what arrives" ends 0 'nothing found' goodqueue doctor
tc qdisc replace dev ifbwan0.7 root cake bandwidth 20mbit ingress
found double-shaping 0
ok "doctor: ... and both IFBs are named" ends 0 'cake on ifbwan0 to 20mbit, and then by cake on ifbwan0.7' goodqueue doctor
ip link del wan0.7; ip link del ifbwan0.7
tc qdisc replace dev ifbwan0 root cake bandwidth 12gbit ingress
found shaper-above-line 1
ip link del ifbwan0
tc qdisc del dev wan0 ingress
ip link add ppp7 type veth peer name ppp8; ip link set ppp7 up
tc qdisc replace dev ppp7 root cake bandwidth 4mbit raw
found overhead 0
ok "doctor: the command that it prints works" tc qdisc change dev ppp7 root cake pppoe-ptm
ok "doctor: cake with overhead" ends 0 'nothing found' goodqueue doctor
ok "doctor: so does the way back" tc qdisc change dev ppp7 root cake noatm mpu 0 raw
found overhead 0
ip link del ppp7
goodqueue sqm wan0 --up 20mbit --down 50mbit >/tmp/out 2>&1
ok "doctor: our own shaper is no fault" ends 0 'nothing found' goodqueue doctor
goodqueue sqm stop wan0 >/tmp/out

# BBR above a queue that does not pace, with one and with four hardware queues. It is left alone on a router,
# and where somebody has set the queue.
control=/proc/sys/net/ipv4/tcp_congestion_control
before=$(cat $control)
modprobe tcp_bbr
echo bbr >$control
for queues in 1 4; do
  ip link add out0 numtxqueues $queues type ifb; ip link set out0 up; ip route add 0.0.0.0/0 dev out0 metric 9
  state >/tmp/sick
  found pacing 0
  goodqueue doctor >/tmp/pacing
  for step in fix undo; do
    sed -n "s/^  $step: //p" /tmp/pacing | sed 's|tc qdisc|/bin/tc qdisc|' >/tmp/$step
  done
  ok "doctor: pacing: fixed: $(cat /tmp/fix)" sh -e /tmp/fix
  ok "doctor: pacing: then nothing is found" ends 0 'nothing found' goodqueue doctor
  ok "doctor: pacing: undo: $(cat /tmp/undo)" sh -e /tmp/undo
  state >/tmp/well
  ok "doctor: pacing: everything is as it was" same /tmp/sick /tmp/well
  echo 1 >/proc/sys/net/ipv4/ip_forward
  ok "doctor: pacing: not on a router" ends 0 'nothing found' goodqueue doctor
  echo 0 >/proc/sys/net/ipv4/ip_forward
  for queue in fq_codel fq "cake bandwidth 20mbit"; do
    tc qdisc replace dev out0 root $queue
    ok "doctor: pacing: not above $queue that somebody has set" ends 0 'nothing found' goodqueue doctor
    tc qdisc del dev out0 root
  done
  ip link del out0
done
echo "$before" >$control

# Faults of the host: a web server without a limit for what TCP has not sent, and a processor that has lost
# packets. The latter is last, since what processors have lost is counted for ever.
lowat=/proc/sys/net/ipv4/tcp_notsent_lowat
nc -l -p 80 >/tmp/web 2>&1 </dev/null & web=$!
sleep 0.2
found notsent-lowat 0
before=$(cat $lowat)
$(goodqueue doctor | sed -n 's/.*\(sysctl -w net.ipv4.tcp_notsent_lowat=131072\).*/\1/p' | head -1) >/tmp/out
ok "doctor: the limit that it prints is set" test "$(cat $lowat)" -eq 131072
ok "doctor: a web server with a limit" ends 0 'nothing found' goodqueue doctor
echo "$before" >$lowat
kill $web; wait $web
# What it costs: how old data are when they arrive behind the modem, whose queue holds half a second.
age() {
  ip netns exec isp /job/age take 5999 >/tmp/age & taken=$!
  sleep 0.2
  /job/age give 10.0.2.2 5999 15
  wait $taken
  cat /tmp/age
}
without=$(age)
echo 131072 >$lowat
with=$(age)
echo "$before" >$lowat
ok "doctor: data are $without ms old when they arrive, and $with with the limit" test $((without - with)) -gt 200
ok "doctor: no web server" ends 0 'nothing found' goodqueue doctor
ip addr add 10.77.0.1/24 dev wan0
ip neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev wan0
echo 1 >/proc/sys/net/core/netdev_max_backlog
# Fragments that netem holds for the same time come out together, and the backlog has room for one.
tc qdisc replace dev wan0 root netem delay 10ms
# lost: packets that processors have lost in front of all queues
lost() { while read -r all dropped rest; do echo $((0x$dropped)); done </proc/net/softnet_stat | awk '{ sum += $1 } END { print sum }'; }
before=$(lost)
ping -q -c 1 -W 1 -s 20000 10.77.0.2 >/tmp/out
lost=$(($(lost) - before)) dropped=$(tc -s qdisc show dev wan0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p')
ok "doctor: of 14 fragments the processor loses $lost, and the queue $dropped" test "$lost" -gt 5 -a "$dropped" -eq 0
tc qdisc del dev wan0 root
echo 1000 >/proc/sys/net/core/netdev_max_backlog
found backlog-drops 0
