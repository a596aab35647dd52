# Congestion controls of this kernel beside those of the simulator, at 10 Mbit/s and 40 ms, for
# docs/congestion-controls.md: a line for each figure, with the least and the largest of six seeds. It checks
# nothing.

for module in tcp_vegas tcp_cdg tcp_lp tcp_westwood; do modprobe $module; done
cat /proc/sys/net/ipv4/tcp_available_congestion_control >/proc/sys/net/ipv4/tcp_allowed_congestion_control
# figures FOLDER: those that are compared, a line each: name, tab, value
figures() {
  awk -F, '$3 == "goodput_bps" && $2 !~ /^all/ && $4 { printf "%s, Mbit/s\t%.2f\n", $2, $4 / 1e6 }
    $2 == "round trip" && $3 ~ /^rise_(p50|p95)_ms$/ { printf "%s\t%.1f\n", $3, $4 }' "$1/csv/summary.csv"
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
  awk -F'\t' -v test="$*" 'FNR == NR {
      if (!($1 in least) || $2 < least[$1]) least[$1] = $2
      if (!($1 in most) || $2 > most[$1]) most[$1] = $2
      next }
    { printf "  %s: %s: kernel %s, ours %s to %s\n", test, $1, $2, least[$1], most[$1] }' /tmp/cc/ours.txt /tmp/cc/kernel.txt
}
for control in vegas cdg westwood lp reno cubic; do cc tcp_1up --cc $control; done
cc rrul_var --flows 2 --cc cubic,vegas
for test in cubic_cdg cubic_westwood reno_cubic_westwood_lp; do cc $test; done
