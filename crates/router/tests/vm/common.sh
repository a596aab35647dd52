# What `./vm` runs first in each real kernel, as root, with busybox, iproute2 and the command. Each check is a
# line: `ok: WHAT` or `FAILED: WHAT`, and then what was said.

# busybox has a tc and an ip of its own, and would take those.
tc() { /bin/tc "$@"; }
ip() { /bin/ip "$@"; }
# ok WHAT COMMAND...: one check. A program that is not there would let a check pass that wants it to fail.
ok() {
  what=$1; shift
  if "$@" >/tmp/out 2>&1 && ! grep -q ': not found$' /tmp/out; then
    echo "ok: $what"
  else
    echo "FAILED: $what"; sed 's/^/  /' /tmp/out
  fi
}
# processes WORDS: the numbers of those with these words in their command line; this busybox has no pgrep
processes() {
  local of
  for of in /proc/[0-9]*; do
    tr '\0' ' ' 2>/dev/null <"$of/cmdline" | grep -qF -- "$1" && echo "${of#/proc/}"
  done
  return 0
}
# ends CODE WORDS COMMAND...: it ends with this exit code and says these words
ends() {
  code=$1 words=$2; shift 2
  "$@" >/tmp/said 2>&1; got=$?
  cat /tmp/said
  [ "$got" -eq "$code" ] || { echo "exit code $got, not $code"; return 1; }
  grep -q -- "$words" /tmp/said || { echo "it does not say: $words"; return 1; }
}
same() { diff "$1" "$2"; }
# Everything that tc and ip show, without what counts. Classes of cake and fq_codel are flows of the moment.
# Whether there is a carrier is no setting: a driver notices it some seconds after its interface came up.
shown() {
  for dev in $(ls /sys/class/net); do
    echo "== $dev"
    ip -d link show dev "$dev" | sed -E 's/^[0-9]+: //; s/promiscuity.*//; s/link\/ether [^ ]*//; s/alias .*//; s/NO-CARRIER,//; s/,LOWER_UP//; s/ state [A-Z]+//'
    tc -d qdisc show dev "$dev"
    tc -d class show dev "$dev" | sort
    tc -d filter show dev "$dev" parent ffff:
    tc -d filter show dev "$dev" parent 1:
  done 2>/dev/null | grep -vE '^class (cake|fq_codel) |^ *$' | sed -E 's/fh [0-9a-f:]+//; s/index [0-9]+//; s/\(rule hit.*//; s/\(success.*//; s/handle 0x[0-9a-f]+//; s/direct_packets_stat [0-9]+//'
}

# with RIGHTS COMMAND...: as nobody, who owns the folder of what was there before, with these capabilities
with() {
  given=-all,$1; shift
  mkdir -p /run/goodqueue; chown -R 65534 /run/goodqueue
  /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$given" --ambient-caps="$given" "$@"
}
# The modules bring interfaces of their own along unless they are told not to.
modprobe ifb numifbs=0
modprobe dummy numdummies=0

# A modem with oversized buffers between us and a server: 5 Mbit/s up with 300 kB, 10 down with 600 kB, 20 ms.
# Our interface has $queues queues.
queues=1
modem() {
  mkdir -p /run/netns
  ip netns add modem; ip netns add isp
  ip link add wan0 numtxqueues $queues type veth peer name lan1 netns modem
  ip -n modem link add isp0 type veth peer name isp1 netns isp
  ip addr add 10.0.1.1/24 dev wan0; ip link set wan0 up; ip route add default via 10.0.1.2
  ip -n modem addr add 10.0.1.2/24 dev lan1; ip -n modem link set lan1 up
  ip -n modem addr add 10.0.2.1/24 dev isp0; ip -n modem link set isp0 up
  ip -n isp addr add 10.0.2.2/24 dev isp1; ip -n isp link set isp1 up; ip -n isp link set lo up
  ip -n isp route add default via 10.0.2.1
  ip netns exec isp /bin/tc qdisc add dev isp1 root netem delay 20ms limit 10000
  ip netns exec modem sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  ip netns exec modem /bin/tc qdisc add dev isp0 root tbf rate 5mbit burst 5k limit 300k
  ip netns exec modem /bin/tc qdisc add dev lan1 root tbf rate 10mbit burst 5k limit 600k
  key=ny72hcfqmf8ss76td47nbqryea
  ip netns exec isp goodqueue server --key $key --quiet >/tmp/server 2>&1 &
  for try in 1 2 3 4 5 6 7 8 9 10; do
    goodqueue probe 10.0.2.2 --key $key --length 100ms --quiet >/tmp/probe 2>&1 && break
    sleep 0.2
  done
}

# What the doctor changes, in the files $settings and elsewhere.
settings=
state() { shown; cat $settings /sys/class/net/*/tx_queue_len; }
# found RULE CODE [DEV]: it is found
found() { rule=$1 code=$2; shift 2; ok "doctor: $rule: found" ends "$code" "--explain $rule" goodqueue doctor "$@"; }
# fixes RULE CODE [DEV]: found, fixed, and put back
fixes() {
  rule=$1 code=$2; shift 2
  state >/tmp/sick
  found "$rule" "$code" "$@"
  ok "doctor: $rule: fixed" ends 0 '  fixed' goodqueue doctor --fix --yes "$@"
  ok "doctor: $rule: then nothing is found" ends 0 'nothing found' goodqueue doctor "$@"
  ok "doctor: $rule: undo" ends 0 'again' goodqueue doctor --undo
  state >/tmp/well
  ok "doctor: $rule: everything is as it was" same /tmp/sick /tmp/well
}

# named_by_driver: each card of QEMU gets the name of its driver, and a second one with the same driver a 1
# behind it.
named_by_driver() {
  for folder in /sys/class/net/*/device; do
    dev=${folder%/device}; dev=${dev##*/}
    driver=$(readlink "$folder/driver"); driver=${driver##*/}
    case $dev in "$driver" | "${driver}1" | card?) continue ;; esac
    [ ! -e "/sys/class/net/$driver" ] || driver=${driver}1
    ip link set "$dev" name "$driver"
  done
}
# finds WHAT RULES DEV: the rules that find something on a card, and no other does
finds() {
  got=$(goodqueue doctor "$3" --json | grep -o '"rule":"[^"]*"' | sed 's/.*:"//; s/"//' | tr '\n' ' ' | sed 's/ $//')
  ok "doctor: $3: $1: ${2:-nothing}" test "$got" = "$2"
  [ "$got" = "$2" ] || echo "  it finds: $got"
}
# What --fix leaves to its reader, of the cards $cards.
hardware() { for dev in $cards; do ethtool -k $dev; ethtool -g $dev; ethtool -c $dev; done 2>/dev/null; cat $settings; }
# by_hand RULE DEV [RULES]: found; what it prints are commands that fix it, down to RULES, and that put it
# back. It is fixed at the end.
by_hand() {
  hardware >/tmp/sick
  found "$1" 0 "$2"
  goodqueue doctor "$2" | sed -n 's/^  fix: //p' | head -1 >/tmp/fix
  goodqueue doctor "$2" | sed -n 's/^  undo: //p' | head -1 >/tmp/undo
  ok "doctor: $1: fixed: $(cat /tmp/fix)" sh -e /tmp/fix
  finds "$1 is fixed" "$3" "$2"
  ok "doctor: $1: undo: $(cat /tmp/undo)" sh -e /tmp/undo
  hardware >/tmp/well
  ok "doctor: $1: everything is as it was" same /tmp/sick /tmp/well
  sh -e /tmp/fix
}
