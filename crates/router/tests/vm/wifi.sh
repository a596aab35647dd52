# Wi-Fi: access points of hostapd on mac80211 with simulated radios
# (mac80211_hwsim), and stations of wpa_supplicant in namespaces of their own.

ip link add wan0 type veth peer name wan1
ok "airtime: a kernel without Wi-Fi: exit code 3, and what is missing" \
  ends 3 'nl80211' goodqueue airtime --count 1
goodqueue watch --prometheus >/tmp/metrics 2>/tmp/said
ok "watch: a kernel without Wi-Fi: queues, no stations, and nothing to say" \
  sh -c 'grep -q goodqueue_queue_ /tmp/metrics && ! grep goodqueue_station_ /tmp/metrics && ! grep . /tmp/said'
modprobe mac80211_hwsim radios=4
ok "airtime: no access point: exit code 3" ends 3 'lacks an access point' goodqueue airtime --count 1
ok "airtime: an interface without Wi-Fi: exit code 2" ends 2 'wan0 is no Wi-Fi interface' goodqueue airtime wan0

# Two radios are access points, the first with a guest network. A guest that says nothing for 15 s is thrown
# out.
cat >/tmp/ap0.conf <<'CONF'
interface=wlan0
driver=nl80211
ctrl_interface=/run/hostapd
ssid=home
hw_mode=g
channel=1
ieee80211n=1
wmm_enabled=1
bss=guest0
ssid=guest
wmm_enabled=1
ap_max_inactivity=15
skip_inactivity_poll=1
CONF
sed 's/wlan0/wlan1/; /^bss=/,$d' /tmp/ap0.conf >/tmp/ap1.conf
hostapd /tmp/ap0.conf /tmp/ap1.conf >/tmp/hostapd 2>&1 &
hostapd=$!
# until_true SECONDS COMMAND...: tries it every 0.2 s
until_true() {
  tries=$(($1 * 5)); shift
  while [ $tries -gt 0 ]; do "$@" >/dev/null 2>&1 && return; sleep 0.2; tries=$((tries - 1)); done
  return 1
}
says() { words=$1; shift; "$@" 2>&1 | grep -q -- "$words"; }
ok "airtime: hostapd has started" until_true 20 says 'type AP' iw dev guest0 info
ok "airtime: no station yet" ends 0 'no stations' goodqueue airtime wlan0 --count 1 --interval 100ms
ok "airtime: no station yet: no metrics" \
  sh -c 'goodqueue airtime wlan0 --prometheus >/tmp/metrics && ! grep . /tmp/metrics'
ok "watch: no station yet" sh -c 'goodqueue watch --json --count 1 --interval 100ms >/tmp/watched && ! grep "\"mac\"" /tmp/watched'
ip addr add 10.0.9.1/24 dev wlan0
ip addr add 10.0.8.1/24 dev guest0

# station NUMBER SSID ADDRESS BSS: radio phyNUMBER, in the namespace staNUMBER, joins the network at this
# access point. Both access points have the network `home`, and the other one would keep a station that has
# left for some seconds.
station() {
  ip netns add "sta$1"
  # Not the function: its process would be a shell that stays here.
  /bin/ip netns exec "sta$1" sleep 100000 &
  sleep 0.3
  iw phy "phy$1" set netns $!
  printf 'ctrl_interface=/run/wpa%s\nnetwork={\nssid="%s"\nbssid=%s\nkey_mgmt=NONE\n}\n' "$1" "$2" \
    "$(cat "/sys/class/net/$4/address")" >"/tmp/sta$1.conf"
  /bin/ip netns exec "sta$1" wpa_supplicant -Dnl80211 -i "wlan$1" -c "/tmp/sta$1.conf" >"/tmp/wpa$1" 2>&1 &
  supplicant=$!
  ip -n "sta$1" link set lo up
  ip -n "sta$1" addr add "$3/24" dev "wlan$1"
}
wpa() { number=$1; shift; wpa_cli -p "/run/wpa$number" -i "wlan$number" "$@"; }
mac() { ip netns exec "sta$1" cat "/sys/class/net/wlan$1/address"; }
goodqueue airtime --json --count 40 --interval 500ms >/tmp/joined 2>&1 &
watcher=$!
station 2 home 10.0.9.12 wlan0
station 3 guest 10.0.8.13 guest0
ok "airtime: a station joins the network" until_true 20 says "$(mac 2)" iw dev wlan0 station dump
ok "doctor: slow-station: a station at 1 Mbit/s" ends 0 'went at 1mbit' goodqueue doctor wlan0
ok "doctor: wifi-queues: the driver has queues of its own" ends 0 '--explain wifi-queues' goodqueue doctor wlan0
ok "airtime: another one joins the guests" until_true 20 says "$(mac 3)" iw dev guest0 station dump
sleep 0.7
ok "airtime: both are seen, with their interfaces" \
  ends 0 "$(mac 3)  guest0" goodqueue airtime wlan0 --count 1 --interval 100ms
ok "airtime: ... the first one too" ends 0 "$(mac 2)  wlan0" goodqueue airtime guest0 --count 1 --interval 100ms
ok "airtime: the other radio has none" ends 0 'no stations' goodqueue airtime wlan1 --count 1 --interval 100ms
ok "airtime: without debugfs, the table says so" \
  ends 0 'debugfs is not mounted' goodqueue airtime --count 1 --interval 100ms
mount -t debugfs debugfs /sys/kernel/debug
ok "airtime: mac80211 of this kernel has none, the table says" \
  ends 0 'CONFIG_MAC80211_DEBUGFS' goodqueue airtime --count 1 --interval 100ms

# A number of the first station in the last look: count FILE KEY
count() { number=$(tail -1 "$1" | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2); echo "${number:--1}"; }
look() { goodqueue airtime "$1" --json --count 1 --interval "$2" >"$3" 2>&1; }
look wlan0 100ms /tmp/quiet
ip netns exec sta2 ping -c 100 -i 0.01 -s 1000 10.0.9.1 >/tmp/ping 2>&1 &
look wlan0 1s /tmp/busy
wait $!
look wlan0 100ms /tmp/after
ok "airtime: it talks over the air" says '100 packets received' cat /tmp/ping
grown() { echo "$(count /tmp/quiet "$1") $(count /tmp/after "$1")"; [ $(($(count /tmp/after "$1") - $(count /tmp/quiet "$1"))) -ge "$2" ]; }
ok "airtime: the bytes of 100 pings are counted to the station" grown tx_bytes 100000
ok "airtime: ... and from it" grown rx_bytes 100000
ok "airtime: 100 packets are counted to the station" grown tx_packets 100
ok "airtime: a rate is shown while they go" says '"down_bps":[0-9]\{5\}' cat /tmp/busy
iw dev wlan0 station dump >/tmp/iw
equals() { words="$(sed -n "s/^[[:space:]]*$2:[[:space:]]*\([0-9]*\).*/\1/p" /tmp/iw)"; echo "iw: $words, ours: $(count /tmp/after "$1")"; [ "$words" = "$(count /tmp/after "$1")" ]; }
for pair in "tx_bytes:tx bytes" "rx_bytes:rx bytes" "tx_packets:tx packets" "tx_retries:tx retries" "tx_failed:tx failed"; do
  ok "airtime: ${pair#*:} are those of iw" equals "${pair%%:*}" "${pair#*:}"
done
ok "airtime: the signal is that of iw" says "\"signal_dbm\":$(sed -n 's/^[[:space:]]*signal:[[:space:]]*\(-[0-9]*\).*/\1/p' /tmp/iw)," cat /tmp/after

# The same stations below the queues of their interfaces, with the same counters.
goodqueue watch wlan0 --prometheus >/tmp/metrics 2>&1
iw dev wlan0 station dump >/tmp/iw
metric() { value=$(sed -n "s/^goodqueue_station_$1{interface=\"wlan0\",station=\"$(mac 2)\"} //p" /tmp/metrics); echo "${value:--1}"; }
of_iw() { value=$(sed -n "s/^[[:space:]]*$1:[[:space:]]*\(-*[0-9]*\).*/\1/p" /tmp/iw); echo "${value:-none}"; }
is() { echo "iw: $(of_iw "$2"), ours: $(metric "$1")"; [ "$(metric "$1")" = "$(of_iw "$2")" ]; }
for pair in "tx_bytes_total:tx bytes" "rx_bytes_total:rx bytes" "tx_retries_total:tx retries" \
  "tx_failed_total:tx failed" "signal_dbm:signal"; do
  ok "watch: Prometheus: ${pair#*:} of the station are those of iw" is "${pair%%:*}" "${pair#*:}"
done
# names FILE: the metrics of stations, without their values
names() { sed -n 's/^\(goodqueue_station_.*}\) .*/\1/p' "$1"; }
goodqueue watch wlan0 guest0 --prometheus >/tmp/metrics 2>&1
goodqueue airtime wlan0 --prometheus >/tmp/metrics_airtime 2>&1
names /tmp/metrics >/tmp/names; names /tmp/metrics_airtime >/tmp/names_airtime
ok "airtime: Prometheus: the metrics of both stations" \
  sh -c "grep 'tx_bytes_total.*$(mac 2)' /tmp/names_airtime && grep 'guest0.*$(mac 3)' /tmp/names_airtime"
ok "airtime: Prometheus: ... are those of watch" same /tmp/names /tmp/names_airtime
goodqueue watch wlan0 --count 1 --interval 100ms >/tmp/watched 2>&1
ok "watch: the station below the queues" says "$(mac 2)  *[0-9.]* .*bit rate" cat /tmp/watched
ok "watch: ... not that of another interface" sh -c "! grep $(mac 3) /tmp/watched"
goodqueue watch wlan0 --json --count 1 --interval 100ms >/tmp/watched 2>&1
ok "watch: JSON: the station" says "\"stations\":\[{.*\"interface\":\"wlan0\",\"mac\":\"$(mac 2)\"" cat /tmp/watched
ok "watch: ... and its bytes" test "$(count /tmp/watched tx_bytes)" -ge 100000
goodqueue watch wan0 --json --count 1 --interval 100ms >/tmp/watched 2>&1
ok "watch: JSON: an interface without Wi-Fi has no stations" says '"stations":\[\]' cat /tmp/watched
ok "watch: a client shows its access point" \
  ends 0 "$(cat /sys/class/net/wlan0/address)" ip netns exec sta2 goodqueue watch wlan2 --count 1 --interval 100ms
wait $watcher
ok "airtime: JSON says who came" says "\"event\":\"came\",\"interface\":\"guest0\",\"mac\":\"$(mac 3)\"" cat /tmp/joined

# A test over this Wi-Fi, whose rate falls in the middle of the load. Simulated radios are never busy, so
# shapers make both ends as slow as such a rate would.
key=ny72hcfqmf8ss76td47nbqryea
goodqueue server --bind 10.0.9.1 --key $key --quiet >/tmp/server 2>&1 &
server=$!
# falls WHAT [TEST]: the shaper up, the bit rate up (air), or both
falls() {
  ip netns exec sta2 /bin/tc qdisc replace dev wlan2 root tbf rate 8mbit burst 5kb limit 100kb
  tc qdisc replace dev wlan0 root tbf rate 8mbit burst 5kb limit 100kb
  ip netns exec sta2 goodqueue test 10.0.9.1 "${2:-tcp_4up}" --key $key --length 11s --idle 1s --json >/tmp/falls 2>&1 &
  sleep 7
  [ "$1" = shaper ] || ip netns exec sta2 iw dev wlan2 set bitrates legacy-2.4 1 ht-mcs-2.4
  [ "$1" = air ] || ip netns exec sta2 /bin/tc qdisc change dev wlan2 root tbf rate 2mbit burst 5kb limit 100kb
  wait $!
  tc qdisc del dev wlan0 root
  ip netns exec sta2 iw dev wlan2 set bitrates
  grep -aoE '"(kind|no_grade|evidence)":"[^"]*"' /tmp/falls || cat /tmp/falls
}
ok "test: the bit rate of Wi-Fi that falls is named" ends 0 'Wi-Fi (wlan2) between 1.0 and' falls both
ok "test: ... and one that stays, too" ends 0 "while the bit rate of this machine's Wi-Fi (wlan2) was" falls shaper
ok "test: ... one that goodput does not show" ends 0 'the bit rate up of this machine.s Wi-Fi (wlan2) varied between 1.0 and' falls air
ok "test: ... and with load both ways" ends 0 'the bit rate up of this machine.s Wi-Fi (wlan2) varied between 1.0 and' falls both rrul_be
kill $server

# hwsim's driver has no airtime fairness: weights are refused, by us and by the kernel.
# In docs/airtime-policy.toml the first station is the phone.
cp /job/airtime-policy.toml /tmp/policy.toml
ip netns exec sta3 ping -c 1 10.0.8.1 >/tmp/out 2>&1
ok "airtime: a policy: exit code 3, and what the driver lacks" \
  ends 3 'phy0 (NL80211_EXT_FEATURE_AIRTIME_FAIRNESS)' goodqueue airtime wlan0 --policy /tmp/policy.toml --count 1
ok "airtime: a policy: nothing is kept" test ! -e /run/goodqueue/airtime-*
goodqueue airtime wlan0 --policy /tmp/policy.toml --dry-run >/tmp/commands 2>/tmp/said
ok "airtime: --dry-run names what the driver lacks, too" says AIRTIME_FAIRNESS cat /tmp/said
ok "airtime: --dry-run: three quarters for the home" \
  says "^iw dev wlan0 station set $(mac 2) airtime_weight 1024$" cat /tmp/commands
ok "airtime: --dry-run: a quarter for the guests" \
  says "^iw dev guest0 station set $(mac 3) airtime_weight 341$" cat /tmp/commands
ok "airtime: iw understands the command, and its driver is not supported either" \
  ends 161 'Operation not supported' sh -e /tmp/commands
ok "airtime: a policy for nobody: exit code 2, and the place" \
  ends 2 'none.toml:1:1: no policy for a real access point' sh -c 'echo "[wifi]" >/tmp/none.toml; goodqueue airtime --policy /tmp/none.toml'
# What a killed process leaves is in a file. The kernel takes our message up to the driver's missing feature.
mkdir -p /run/goodqueue
bytes=$(mac 2 | sed 's/:/,0x/g; s/^/0x/')
file=/run/goodqueue/airtime-$(stat -L -c %i /proc/self/ns/net)-$(iw dev wlan0 info | sed -n 's/.*wiphy //p').json
left() {
  printf '{"schema":1,"radio":"phy0","index":%d,"before":[{"interface":"wlan0","index":%d,"mac":[%s],"weight":300}]}' \
    "$(iw dev wlan0 info | sed -n 's/.*wiphy //p')" "$(cat /sys/class/net/wlan0/ifindex)" "$1" >"$file"
}
left "$(printf '%d,%d,%d,%d,%d,%d' $(echo "$bytes" | tr , ' '))"
ok "airtime: weights that a killed process left are told" \
  ends 0 'phy0 still has weights of a goodqueue airtime that was killed' goodqueue airtime wlan0 --count 1 --interval 100ms
ok "airtime: putting them back: the kernel reads the message, and the driver lacks the feature" \
  ends 3 'AIRTIME_FAIRNESS' goodqueue airtime wlan0 --restore
ok "airtime: ... and they stay written down" test -e "$file"
left 2,0,0,0,99,0
ok "airtime: a station that has left needs nothing back" ends 0 'restored the weights of 0 stations' goodqueue airtime wlan0 --restore
ok "airtime: ... and nothing stays written down" test ! -e "$file"

# Roaming, leaving, and being lost.
bssid=$(cat /sys/class/net/wlan1/address)
goodqueue airtime --json --count 14 --interval 500ms >/tmp/roamed 2>&1 &
watcher=$!
sleep 0.5
# It may choose any access point of its network from now on.
wpa 2 bssid 0 00:00:00:00:00:00 >/tmp/out
wpa 2 scan >/tmp/out; sleep 3
wpa 2 roam "$bssid" >/tmp/out
ok "airtime: a station roams" until_true 3 says "$(mac 2)" iw dev wlan1 station dump
wait $watcher
ok "airtime: roaming is seen" says "\"event\":\"moved\",\"from\":\"wlan0\",\"interface\":\"wlan1\",\"mac\":\"$(mac 2)\"" cat /tmp/roamed
ok "airtime: it is a station of the other radio now" ends 0 "$(mac 2)  wlan1" goodqueue airtime wlan1 --count 1 --interval 100ms
# Nobody brings the guest back.
kill -9 $supplicant
goodqueue airtime --count 60 --interval 500ms >/tmp/gone 2>&1 &
watcher=$!
sleep 1
wpa 2 disconnect >/tmp/out
wait $watcher
ok "airtime: a station that leaves is gone" says "$(mac 2) went from wlan1" cat /tmp/gone
ok "airtime: a station that is silent is lost" says "$(mac 3) went from guest0" cat /tmp/gone
ok "watch: ... and have no metrics" \
  sh -c 'goodqueue watch --prometheus >/tmp/metrics && ! grep goodqueue_station_ /tmp/metrics'
ok "airtime: no stations are left" ends 0 'no stations' goodqueue airtime --count 1 --interval 100ms

# The access point is started anew while somebody looks.
goodqueue airtime wlan0 --json --count 20 --interval 500ms >/tmp/anew 2>&1 &
watcher=$!
goodqueue watch wlan0 --json --count 20 --interval 500ms >/tmp/anew_queues 2>&1 &
queues_watcher=$!
sleep 1
kill $hostapd; wait $hostapd 2>/dev/null
hostapd /tmp/ap0.conf /tmp/ap1.conf >/tmp/hostapd 2>&1 &
wait $watcher
ok "airtime: hostapd starts anew: the look goes on" test "$(grep -c '"radios"' /tmp/anew)" -eq 20
wait $queues_watcher
ok "watch: ... of the queues, too" test "$(grep -c '"interface":"wlan0"' /tmp/anew_queues)" -eq 20
