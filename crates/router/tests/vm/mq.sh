# A current kernel: a device with four queues, each with a `cake` of its own.

queues=4
modem
kinds() { tc qdisc show dev wan0 | awk '{ print $2 }' | sort | uniq -c | awk '{ printf "%s%d %s", (NR > 1 ? ", " : ""), $1, $2 }'; }
shown >/tmp/before
ok "cake_mq: starts" ends 0 'up 1gbit, cake_mq on wan0' goodqueue sqm wan0 --up 1gbit --down 9mbit
ok "cake_mq: a cake in each queue: $(kinds)" test "$(kinds)" = "4 cake, 1 cake_mq, 1 ingress"
ok "cake_mq: a second time changes nothing" ends 0 'as it was' goodqueue sqm wan0 --up 1gbit --down 9mbit
ok "cake_mq: in force" ends 0 'packets sent' goodqueue sqm status
ok "cake_mq: it is watched" ends 0 'cake_mq root' goodqueue watch wan0 --count 1 --interval 200ms --idle
ok "cake_mq: one cake, if it was written out" ends 0 'cake on wan0' goodqueue sqm wan0 --up 1gbit --queue cake
ok "cake_mq: in one queue: $(kinds)" test "$(kinds)" = "1 cake"
ok "cake_mq: asked for by name, at any rate" ends 0 'up 9mbit, cake_mq on wan0' goodqueue sqm wan0 --up 9mbit --queue cake_mq
# At a low rate one cake is more exact.
ok "Linux 7: one cake at a low rate" ends 0 'up 4500kbit, cake on wan0' goodqueue sqm wan0 --up 4500kbit --down 9mbit
goodqueue test 10.0.2.2 tcp_8up --key $key --length 8s --idle 1s --quiet >/tmp/up
goodput=$(awk '/^tcp_8up/ { print int($5 * 1000) }' /tmp/up) rise=$(awk '/^tcp_8up/ { print int($6 * 10) }' /tmp/up)
ok "Linux 7: eight uploads get $goodput kbit/s (of 4500, 4284 can be payload)" \
  test "$goodput" -gt 4100 -a "$goodput" -lt 4300
ok "Linux 7: the median probe waits $rise tenths of a ms" test "$rise" -lt 30
ok "Linux 7: stop" ends 0 'again, as before' goodqueue sqm stop wan0
shown >/tmp/after
ok "Linux 7: stop has put everything back" same /tmp/before /tmp/after
ip -n isp addr add 10.0.2.3/24 dev isp1
goodqueue autorate wan0 --up 1mbit..8mbit --down 2mbit..16mbit --reflector 10.0.2.2,10.0.2.3 --length 10s --json >/tmp/follow &
autorate=$!
sleep 2
goodqueue test 10.0.2.2 tcp_8up --key $key --length 5s --idle 500ms --quiet >/tmp/up
wait $autorate
ok "Linux 7: autorate finds the rate" grep -q '"direction":"up".*the link carries [45]' /tmp/follow
for layout in simple simplest; do
  ok "Linux 7: $layout starts" ends 0 'htb on wan0' goodqueue sqm wan0 --up 20mbit --down 50mbit --layout $layout
  ok "Linux 7: $layout is in force" ends 0 'packets sent' goodqueue sqm status
  ok "Linux 7: $layout stops" ends 0 'again, as before' goodqueue sqm stop wan0
done
shown >/tmp/after
ok "Linux 7: everything is back" same /tmp/before /tmp/after

# The rate that four instances send together, beside ours of the same load (docs/cake-mq.md), in percent. At
# 10 Mbit/s other random numbers change ours by 1 point.
beside() {
  rate=$1 load=$2 ours=$3 apart=$4
  ip link del wan0 2>/dev/null
  ip link add wan0 numtxqueues 4 type dummy && ip addr add 10.0.1.1/24 dev wan0 && ip link set wan0 up &&
    /job/rates set cake_mq "$rate" && tc qdisc add dev wan0 clsact || return
  for flow in 0 1 2 3 4 5 6 7; do
    tc filter add dev wan0 egress protocol ip u32 match ip dport $((5000 + flow)) 0xffff \
      action skbedit queue_mapping $((flow / 2)) || return
  done
  kernel=$(/job/rates run "$rate" 4 "$load" 5) || { echo "$kernel; the load could not be offered"; return 1; }
  echo "$kernel"
  awk -v kernel="$kernel" -v ours="$ours" -v apart="$apart" 'BEGIN { off = kernel - ours; exit !(off * off <= apart * apart) }'
}
if [ -x /job/rates ]; then
  ok "Linux 7: 100 Mbit/s, even load" beside 100000000 even 0.00 0.1
  ok "Linux 7: 100 Mbit/s, 90 % of the load in one queue" beside 100000000 skewed -0.88 0.1
  ok "Linux 7: 100 Mbit/s, bursts of 10 ms" beside 100000000 10 0.00 0.1
  ok "Linux 7: 10 Mbit/s, even load" beside 10000000 even 2.23 1
  ok "Linux 7: 10 Mbit/s, 90 % of the load in one queue" beside 10000000 skewed 4.55 1
else
  echo "SKIPPED: rates of cake_mq: no C compiler that links statically"
fi

# Wi-Fi of a current kernel: every driver has mac80211's queues, and that of simulated radios no more.
modprobe mac80211_hwsim radios=1
ip link set wlan0 up
ok "doctor: a station's interface with mac80211's queues" ends 0 'nothing found' goodqueue doctor wlan0
ip link set wlan0 down
printf 'interface=wlan0\ndriver=nl80211\nssid=home\nhw_mode=g\nchannel=1\n' >/tmp/ap.conf
hostapd /tmp/ap.conf >/tmp/hostapd 2>&1 &
for try in $(seq 100); do iw dev wlan0 info | grep -q 'type AP' && break; sleep 0.2; done
ok "doctor: wifi-airtime: a driver without airtime fairness" ends 0 '--explain wifi-airtime' goodqueue doctor wlan0
