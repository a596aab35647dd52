#!/usr/bin/env bash
# Packet sockets beside AF_XDP: the table of docs/performance.md.
# `crates/wire/benches/forward.sh [ROUNDS [SECONDS]]`, as root, needs a C compiler and iproute2. It makes
# three network namespaces with a veth pair from each to the next, and removes them. `forward.c` says what it
# measures. A round runs all methods in turn, every second round backwards, so that what else the machine does
# meets all alike. Compare the ratios: each is of two runs of one round.
set -eu
cd "$(dirname "$0")"
rounds=${1:-8} seconds=${2:-3}
methods="recvmmsg blocks xdp xdp-stamp"
backwards="xdp-stamp xdp blocks recvmmsg"
work=$(mktemp -d)
clean() {
  for name in load forward sink; do ip netns del gq-$name 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean EXIT
cc -O2 -o "$work/forward" forward.c
for name in load forward sink; do ip netns add gq-$name; done
ip link add out netns gq-load type veth peer name in netns gq-forward
ip link add out netns gq-forward type veth peer name in netns gq-sink
for end in "load out" "forward in" "forward out" "sink in"; do
  set -- $end
  # Without IPv6 the interfaces send nothing by themselves.
  ip netns exec gq-$1 sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6'
  ip -n gq-$1 link set $2 up
done

# middle FORMAT: the median of the numbers in standard input, and after FORMAT the lowest and the highest
middle() {
  sort -g | awk -v format="$1" '{ v[NR] = $1 } END { m = (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
    printf format, m, v[1], v[NR] }'
}
# column METHOD N: column N of the runs of a method
column() { awk -v method="$1" -v n="$2" '$1 == method { print $n }' "$work/runs"; }
# ratio METHOD N: the time of `recvmmsg` in the same round by that of this method, median and range
ratio() {
  paste -d ' ' <(column recvmmsg "$2") <(column "$1" "$2") | awk '{ print $1 / $2 }' | middle '%.2f (%.2f to %.2f)'
}
columns="bytes | offered/s | method | passed/s | forwarder, ns | ratio | all, ns | ratio | stamped, %"
echo "| $columns | age, us: 50 % | 99 % | not sent, % |"
echo "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
for bytes in 64 1500; do
  for rate in 0 20000; do
    : >"$work/runs"
    for round in $(seq "$rounds"); do
      order=$methods
      [ $((round % 2)) -eq 1 ] || order=$backwards
      for method in $order; do
        echo "$method $("$work/forward" "$method" "$bytes" "$rate" "$seconds")" >>"$work/runs"
      done
    done
    for method in $methods; do
      printf '| %s | %s | `%s`' "$bytes" "${rate/#0/most}" "$method"
      for n in 2 3 r3 4 r4 5 6 7 8; do
        case $n in
          r*) printf ' | %s' "$(ratio "$method" "${n#r}")" ;;
          8) printf ' | %s' "$(column "$method" $n | middle '%.2f')" ;;
          *) printf ' | %s' "$(column "$method" $n | middle '%.0f')" ;;
        esac
      done
      echo ' |'
    done
  done
done
