# Congestion controls of this kernel beside those of the simulator, at 10 Mbit/s and 40 ms, for
# docs/congestion-controls.md: a line for each figure, with the least and the largest of six seeds. It checks nothing.

for module in tcp_vegas tcp_cdg tcp_lp tcp_westwood; do modprobe $module; done
cat /proc/sys/net/ipv4/tcp_available_congestion_control >/proc/sys/net/ipv4/tcp_allowed_congestion_control
# figures FOLDER: those that are compared, a line each
figures() {
  awk -F, '$3 == "goodput_bps" && $2 !~ /^all/ && $4 { printf "%s, Mbit/s,%.2f\n", $2, $4 / 1e6 }
    $2 == "round trip" && $3 ~ /^rise_(p50|p95)_ms$/ { printf "%s,%.1f\n", $3, $4 }' "$1/csv/summary.csv"
}
cc() {
  line="--rate 10mbit --rtt 40ms --queue pfifo:100 --length 20s --idle 1s --quiet"
  rm -rf /tmp/cc; mkdir /tmp/cc
  goodqueue run "$@" $line --live -o /tmp/cc/kernel >/dev/null || return
  figures /tmp/cc/kernel >/tmp/cc/kernel.txt
  for seed in 1 2 3 4 5 6; do
    goodqueue run "$@" $line --seed $seed -o /tmp/cc/$seed >/dev/null || return
    figures /tmp/cc/$seed
  done >/tmp/cc/ours.txt
  awk -F, -v test="$*" 'FNR == NR { name = NF == 3 ? $1 "," $2 : $1; v = $NF
      if (!(name in least) || v < least[name]) least[name] = v
      if (!(name in most) || v > most[name]) most[name] = v
      next }
    { name = NF == 3 ? $1 "," $2 : $1; printf "  %s: %s: kernel %s, ours %s to %s\n", test, name, $NF, least[name], most[name] }' \
    /tmp/cc/ours.txt /tmp/cc/kernel.txt
}
for control in vegas cdg westwood lp reno cubic; do cc tcp_1up --cc $control; done
cc rrul_var --flows 2 --cc cubic,vegas
for test in cubic_cdg cubic_westwood reno_cubic_westwood_lp; do cc $test; done
