# What `./package` checks of the packages that it has built. It is sourced there, and uses `ok`, `skip` and
# `needs`. Names are set there, and inner shells expand words in quotes:
# shellcheck shell=bash disable=SC2154,SC2016,SC1091

# Debian without packages that are not essential, outside of the tree; unpacked for each run.
cache=${GOODQUEUE_DEBIAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/goodqueue/debian-1.tar}
root=$work/root
base_system() {
  [ ! -s "$cache" ] || return 0
  needs mmdebstrap mmdebstrap || return
  mkdir -p "$(dirname "$cache")" &&
    (. /etc/os-release && mmdebstrap --quiet --variant=essential "$VERSION_CODENAME" "$cache.new.tar") \
      >"$work/base" 2>&1 &&
    mv "$cache.new.tar" "$cache"
}

# says STATUS WORDS COMMAND...: it ends with this exit code and says these words
says() {
  local status=$1 words=$2 end=0; shift 2
  "$@" >"$work/said" 2>&1 || end=$?
  cat "$work/said"
  [ "$end" -eq "$status" ] || { echo "exit code $end, not $status: $*"; return 1; }
  grep -q -- "$words" "$work/said" || { echo "it does not say: $words"; return 1; }
}

# inside COMMAND...: as root of the clean system, with a network of its own, for 20 s at most; /run and /tmp
# are empty and forgotten. In a changed root nobody can make a user namespace (user_namespaces(7)), so rights
# count as they are. $before runs first, outside of the changed root.
before=true
inside() {
  timeout --foreground -k 1 20 unshare --mount --net --pid --fork --kill-child bash -c '
    root=$1 before=$2; shift 2
    mount -t proc proc "$root/proc" && mount -t sysfs sys "$root/sys" &&
      mount -t tmpfs -o mode=755 run "$root/run" && mount -t tmpfs tmp "$root/tmp" && ip link set lo up &&
      ip link add eth0 type veth peer name eth1 && ip link set eth0 up && eval "$before" || exit 125
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      chroot "$root" "$@"' bash "$root" "$before" "$@"
}
# as RIGHTS COMMAND...: as nobody with these capabilities and no others (`+net_admin,+net_raw`; none: `-all`)
as() {
  local rights=$1; shift
  inside setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all,$rights" \
    --ambient-caps="-all,$rights" "$@"
}

# everything_in ROOT: each file with mode, owner and content, without what dpkg keeps of the past
everything_in() {
  (cd "$root" && find . -xdev ! -path './var/lib/dpkg/*-old' ! -path './var/log/dpkg.log' \
    ! -path './var/lib/dpkg/lock*' ! -path './var/lib/dpkg/triggers/Lock' -printf '%P %y %m %U:%G %l\n' \
    -type f -exec md5sum {} +) | LC_ALL=C sort
}
same_as_before() { everything_in >"$work/after"; diff "$work/before" "$work/after"; }
pages_read() {
  local page
  for page in "$root"/usr/share/man/man1/goodqueue*; do
    MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >"$work/page" |
      sed "s|^|${page##*/}: |"
    [ -s "$work/page" ] && lexgrog "$page" >"$work/name" || echo "${page##*/}: it has no text, or no name"
  done | { ! grep .; }
}
completes_in_bash() {
  # shellcheck disable=SC2016 # it is bash's inside
  inside bash -c '. /usr/share/bash-completion/completions/goodqueue && complete -p goodqueue &&
    COMP_WORDS=(goodqueue sq) COMP_CWORD=1 && _goodqueue goodqueue sq goodqueue && echo "${COMPREPLY[*]}"' |
    grep -x sqm
}
completes_in_fish() {
  fish --no-config -c "source $root/usr/share/fish/vendor_completions.d/goodqueue.fish
    complete -C 'goodqueue sq'" | grep '^sqm'
}
completes_in_zsh() {
  zsh -f -c "fpath=($root/usr/share/zsh/vendor-completions \$fpath); autoload -U compinit && compinit -u -D &&
    [[ \$_comps[goodqueue] == _goodqueue ]] && autoload +X _goodqueue && functions _goodqueue" | grep sqm
}
enabled_by_its_owner() {
  local link=etc/systemd/system/multi-user.target.wants/goodqueue-server.service
  [ ! -e "$root/$link" ] || { echo "the package has enabled the service"; return 1; }
  systemctl --root="$root" enable goodqueue-server && [ -L "$root/$link" ]
}
unit_runs_what_is_there() {
  local unit=$root/usr/lib/systemd/system/goodqueue-server.service
  grep -q '^ExecStart=/usr/bin/goodqueue server ' "$unit" && ! grep -q /usr/local "$unit" &&
    [ -x "$root/usr/bin/goodqueue" ]
}

check_debian() {
  local file=$out/goodqueue_${version}_${debian[$(uname -m)]}.deb platform
  if needs lintian lintian; then
    for platform in $platforms; do
      ok "Debian package for ${debian[$platform]}: lintian finds nothing" lintian --fail-on error,warning \
        --tag-display-limit 0 --suppress-tags initial-upload-closes-no-bugs \
        "$out/goodqueue_${version}_${debian[$platform]}.deb"
    done
  else
    skip "lintian is not installed and could not be fetched"
  fi
  if [ "$(id -u)" -ne 0 ] || ! needs dpkg dpkg || ! base_system; then
    skip "packages in a clean Debian: it takes root, and mmdebstrap to fetch the system"
    return 1
  fi
  mkdir "$root" && tar -xf "$cache" -C "$root" && cp "$file" "$root/goodqueue.deb"
  # Every Debian with systemd has this folder.
  mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
  everything_in >"$work/before"
  ok "clean Debian: installs" inside dpkg -i /goodqueue.deb || return
  ok "clean Debian: installs over itself, as an upgrade does" inside dpkg -i /goodqueue.deb
  ok "clean Debian: files are as packed" inside dpkg --verify goodqueue
  ok "clean Debian: runs" says 0 "^goodqueue $version" inside goodqueue --version
  ok "clean Debian: simulates, as nobody" \
    as -all goodqueue run rrul --length 2s --idle 1s --queue fq_codel --quiet
  ok "clean Debian: the service runs what is there" unit_runs_what_is_there
  ok "clean Debian: bash completes" completes_in_bash
  if needs man man-db; then
    ok "clean Debian: every man page reads without a warning" pages_read
  else
    skip "man pages: there is no man (package man-db)"
  fi
  local shell
  for shell in fish zsh; do
    if needs $shell $shell; then
      ok "clean Debian: $shell completes" completes_in_$shell
    else
      skip "completions of $shell: it is not installed"
    fi
  done
  check_rights
  ok "clean Debian: the service is off until its owner enables it" enabled_by_its_owner
  ok "clean Debian: removes" inside dpkg -r goodqueue
  ok "clean Debian: the program is gone" [ ! -e "$root/usr/bin/goodqueue" ]
  ok "clean Debian: purges" inside dpkg -P goodqueue
  ok "clean Debian: nothing is left behind" same_as_before
}

# measured COMMAND...: it has measured. On a busy machine the result may say that it is not valid (1).
measured() { local end=0; "$@" || end=$?; [ "$end" -le 1 ]; }
# serves WORDS COMMAND...: a server that says these words, and is ended then
serves() {
  local words=$1 server; shift
  # A process group of its own.
  set -m
  "$@" >"$work/said" 2>&1 &
  server=$!
  set +m
  for _ in $(seq 100); do
    if grep -q -- "$words" "$work/said" || ! kill -0 "$server"; then break; fi
    sleep 0.1
  done
  kill -- "-$server"
  wait "$server"
  cat "$work/said"
  grep -q -- "$words" "$work/said"
}
# The table of docs/install.md, line by line.
check_rights() {
  local all missing what live=(goodqueue run ping --live --length 1s --idle 500ms --queue pfifo)
  local link=(goodqueue link --rate 5mbit -- true)
  for what in live link; do
    local -n command=$what
    all=+sys_admin,+net_admin,+net_raw
    ok "rights: $what with CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_NET_RAW" measured as $all "${command[@]}"
    for missing in sys_admin net_admin net_raw; do
      ok "rights: $what without CAP_${missing^^}: exit code 3 names it" \
        says 3 "CAP_${missing^^}" as "${all//+$missing/-$missing}" "${command[@]}"
    done
  done
  if setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urn true 2>/dev/null; then
    ok "rights: live without any, where users may make namespaces" measured outside "${live[@]}"
    ok "rights: link without any, where users may make namespaces" outside "${link[@]}"
  else
    skip "live and link without rights: users may not make namespaces here"
  fi
  ok "rights: server without any" serves 'no capabilities' as -all goodqueue server
  ok "rights: server at port 80 with CAP_NET_BIND_SERVICE" \
    serves 'no capabilities' as +net_bind_service goodqueue server --port 80 --quic-port 443
  ok "rights: server at port 80 without: exit code 3 names it" \
    says 3 CAP_NET_BIND_SERVICE as -all goodqueue server --port 80 --quic-port 4443
  ok "rights: server --user with CAP_SETUID and CAP_SETGID" \
    serves 'user daemon' as +setuid,+setgid goodqueue server --user daemon
  for missing in setuid setgid; do
    all=+setuid,+setgid
    ok "rights: server --user without CAP_${missing^^}: exit code 3 names it" \
      says 3 "CAP_${missing^^}" as "${all//+$missing/-$missing}" goodqueue server --user daemon
  done
  if needs setcap libcap2-bin; then
    ok "rights: at the file, for the server" setcap cap_net_bind_service+ep "$root/usr/bin/goodqueue"
    ok "rights: at the file, the server has it" \
      serves 'no capabilities' as -all goodqueue server --port 80 --quic-port 443
    ok "rights: at the file, for link" \
      setcap cap_sys_admin,cap_net_admin,cap_net_raw+ep "$root/usr/bin/goodqueue"
    ok "rights: at the file, what link starts gets none" \
      says 0 'CapPrm:.0000000000000000' as -all goodqueue link --rate 5mbit -- grep CapPrm /proc/self/status
    setcap -r "$root/usr/bin/goodqueue"
  else
    skip "capabilities at the file: there is no setcap (package libcap2-bin)"
  fi
  ok "rights: watch without any" as -all goodqueue watch --prometheus
  ok "rights: doctor without any" as -all goodqueue doctor
  ok "rights: sqm --dry-run without any" as -all goodqueue sqm eth0 --up 10mbit --dry-run
  ok "rights: sqm status without any" says 0 'no interface' as -all goodqueue sqm status
  # With the right, `./vm` sees it shape: this kernel may lack the queues.
  ok "rights: sqm without /run/goodqueue: exit code 3 names it" \
    says 3 'the right to write /run/goodqueue' as +net_admin goodqueue sqm eth0 --up 10mbit
  before='install -d -o 65534 "$root/run/goodqueue"'
  ok "rights: sqm without CAP_NET_ADMIN: exit code 3 names it" \
    says 3 CAP_NET_ADMIN as -all goodqueue sqm eth0 --up 10mbit
  before+='; sysctl -qw net.ipv4.tcp_ecn=0'
  ok "rights: doctor --fix of a setting of the network, with CAP_NET_ADMIN" \
    says 0 fixed as +net_admin goodqueue doctor --fix --yes
  ok "rights: doctor --fix of a setting of the network, without: exit code 3 names the file" \
    says 3 /proc/sys/net/ipv4/tcp_ecn as -all goodqueue doctor --fix --yes
  before=true
}
# outside COMMAND...: as nobody without capabilities, in this system
outside() {
  local program=$root/usr/bin/goodqueue; shift
  (cd / && TMPDIR=/tmp setpriv --reuid=65534 --regid=65534 --clear-groups "$program" "$@")
}

# An SDK of OpenWrt as far as the recipe needs one: it does what the recipe says.
sdk() {
  local arch=$1 cpu=$2 into=$3
  mkdir -p "$work/sdk"
  printf '%s\n' "INCLUDE_DIR:=$work/sdk" 'INSTALL_DIR:=install -d -m0755' 'INSTALL_BIN:=install -m0755' \
    'INSTALL_CONF:=install -m0600' >"$work/sdk/rules.mk"
  printf '%s\n' 'define BuildPackage' 'all:' $'\t$$(Build/Compile)' \
    $'\t$$(call Package/$(1)/install,$$(INTO))' 'endef' >"$work/sdk/package.mk"
  make -s -C "$out/openwrt" TOPDIR="$work/sdk" ARCH="$arch" CPU_TYPE="$cpu" INTO="$into" all
}
recipe_installs() {
  sdk "$(uname -m)" '' "$work/router" &&
    (cd "$work/router" && find . -type f -printf '%P %m\n' | sort) >"$work/installed" &&
    diff - "$work/installed" <<<'etc/config/goodqueue 600
etc/init.d/goodqueue 755
usr/bin/goodqueue 755'
}

# init FUNCTION CONFIG SHAPED: what the init script does with this configuration, where these lines are the
# status
init() {
  printf '%s\n' '#!/bin/sh' 'case "$*" in "sqm status") cat "$0.status" ;; *) echo "goodqueue $*" ;; esac' \
    >"$work/record"
  printf '%s' "$3" >"$work/record.status"
  chmod +x "$work/record"
  busybox sh packaging/procd-stub.sh packaging/openwrt/files/goodqueue.init "$2" "$work/record" "$1" |
    sed "s|$work/record|goodqueue|"
}
enabled_config="
config sqm
	option enabled '1'
	option interface 'eth0'
	option up '18mbit'
	option down '90mbit'
	option layout 'layer_cake'
	option link 'pppoe-ptm'
	option overhead '-4'
config sqm 'lte'
	option enabled 1
	option interface eth1
	option up 4mbit
	option queue 'htb,sqm=simple,leaf.target=10ms'
config sqm
	option enabled '0'
	option interface 'eth8'
config server
	option enabled '1'
	option port '2212'
	option metrics '127.0.0.1:9112'
"
starts_what_is_enabled() {
  init start_service "$work/config" \
    $'eth0: up 18mbit, cake on eth0\n  up  1 packets sent\neth9: up 1mbit, cake on eth9\n' >"$work/started"
  diff - "$work/started" <<'SAID'
goodqueue sqm eth0 --up 18mbit --down 90mbit --layout layer_cake --link pppoe-ptm --overhead -4 --quiet
goodqueue sqm eth1 --up 4mbit --queue htb,sqm=simple,leaf.target=10ms --quiet
goodqueue sqm stop eth9 --quiet
instance 4
command goodqueue server --port 2212 --metrics 127.0.0.1:9112
respawn
stdout 1
stderr 1
no_new_privs 1
SAID
}
stops_what_is_shaped() {
  init stop_service "$work/config" $'eth0: up 18mbit, cake on eth0\n  not in force: x\n' >"$work/stopped"
  diff - "$work/stopped" <<<'goodqueue sqm stop eth0 --quiet'
  init stop_service "$work/config" 'no interface is shaped' >"$work/stopped"
  [ ! -s "$work/stopped" ]
}
# The command takes each line that the script has started.
lines_are_taken() {
  local words
  while read -r -a words; do
    case "${words[*]}" in
    'goodqueue sqm stop '*) says 2 'is not shaped by Goodqueue' within "${words[@]:1}" || return ;;
    'goodqueue sqm '*) within "${words[@]:1}" --dry-run || return ;;
    'command goodqueue server '*) serves 'in force: ' within "${words[@]:2}" || return ;;
    esac
  done <"$work/started"
}
# within WORDS...: the command, in a network with eth0 and eth1
within() {
  timeout --foreground 20 unshare --net --mount bash -c 'mount -t tmpfs run /run && ip link set lo up &&
    ip link add eth0 type veth peer name eth1 && exec "$@"' bash "$(realpath "$program")" "$@"
}

check_openwrt() {
  if needs make make; then
    ok "OpenWrt: the recipe installs three files" recipe_installs
    ok "OpenWrt: a processor without a file is named" \
      says 2 'no static file for this processor: files/goodqueue-mips' sdk mips 24kc "$work/router"
    ok "OpenWrt: so is 32-bit ARM before version 7" \
      says 2 'files/goodqueue-arm$' sdk arm arm926ej-s "$work/router"
  else
    skip "OpenWrt's recipe: there is no make"
  fi
  if ! needs busybox busybox-static; then
    skip "OpenWrt's init script: there is no busybox"
    return
  fi
  printf '%s' "$enabled_config" >"$work/config"
  ok "OpenWrt: as installed, nothing is started" \
    diff /dev/null <(init start_service packaging/openwrt/files/goodqueue.config 'no interface is shaped')
  ok "OpenWrt: what is enabled is started, and other shapers are stopped" starts_what_is_enabled
  ok "OpenWrt: stop puts back what is shaped" stops_what_is_shaped
  ok "OpenWrt: it starts again when an interface comes up, or the configuration changes" \
    diff - <(init service_triggers "$work/config" '') <<<'reload when the configuration goodqueue changes
trigger interface.*.up 2000 /etc/init.d/goodqueue start'
  if [ "$(id -u)" -eq 0 ]; then
    ok "OpenWrt: the command takes each line" lines_are_taken
  else
    skip "OpenWrt's lines of the command: a network of its own takes root"
  fi
}

# of INSTRUCTION: its words in the Containerfile
of() { sed -nE "s/^$1 //p" packaging/Containerfile | tr -d '[]",'; }
# The image, made by hand as its file says.
image() {
  local tree=$work/image from to library
  mkdir -p "$tree"
  read -r from to < <(of COPY)
  cp "$out/${from/'${PROGRAM}'/goodqueue-$(uname -m)}" "$tree$to" || return
  # A quick program is linked with libraries.
  for library in $(ldd "$tree$to" | grep -o '/[^ ]*'); do
    install -D "$(readlink -f "$library")" "$tree$library"
  done
}
# What the image starts answers a probe, at the ports that it exposes, as nobody and without capabilities.
container_serves() {
  unshare --net bash -c 'tree=$1 user=$2 words=$3 expose=$4 program=$5
    ip link set lo up
    # shellcheck disable=SC2086
    chroot --userspec="$user" "$tree" $words & pid=$!
    trap "kill $pid" EXIT
    for try in $(seq 50); do "$program" probe 127.0.0.1 --length 200ms --quiet && break; sleep 0.1; done
    [ "$try" -lt 50 ] || exit 1
    grep -E "^(Uid|Gid|Cap(Prm|Eff|Inh|Amb))" "/proc/$pid/status" |
      grep -vE "65534|0000000000000000" && exit 1
    diff <(tr " " "\n" <<<"$expose" | sort) \
      <(ss -lntuH | sed -E "s|^([a-z]+) .*:([0-9]+) .*|\2/\1|" | sort -u)' \
    bash "$work/image" "$(of USER)" "$(of ENTRYPOINT) $(of CMD)" "$(of EXPOSE)" "$(realpath "$program")"
}
check_container() {
  if [ "$(id -u)" -ne 0 ] || ! needs ss iproute2; then
    skip "the container's image: it takes root, and ss"
    return
  fi
  ok "container: the image is made" image
  ok "container: its server answers at its ports, as nobody and without capabilities" container_serves
}

check_static() {
  local platform
  declare -A machine=([x86_64]='X86-64' [aarch64]=AArch64 [armv7]=ARM [riscv64]=RISC-V)
  for platform in $platforms; do
    ok "static file for $platform: for its processor, and without libraries" \
      is_static "$out/goodqueue-$platform" "${machine[$platform]}"
    ok "small file for $platform: the same" \
      is_static "$out/goodqueue-small-$platform" "${machine[$platform]}"
    ok "Debian package for ${debian[$platform]}: says so, and holds that file" holds "$platform"
  done
}
is_static() {
  LC_ALL=C readelf -hld "$1" >"$work/elf" && grep "Machine:.*$2" "$work/elf" &&
    ! grep -E 'NEEDED|INTERP' "$work/elf"
}
holds() {
  local file=$out/goodqueue_${version}_${debian[$1]}.deb
  [ "$(dpkg-deb -f "$file" Architecture)" = "${debian[$1]}" ] &&
    cmp <(dpkg-deb --fsys-tarfile "$file" | tar -xO ./usr/bin/goodqueue) "$out/goodqueue-$1"
}
same_twice() {
  local file=$out/goodqueue_${version}_${debian[$(uname -m)]}.deb
  mv "$file" "$work/first.deb" &&
    debian_package "$out/goodqueue-$(uname -m)" "${debian[$(uname -m)]}" "$depends" "$compression" &&
    cmp "$work/first.deb" "$file"
}

check_packages() {
  if needs shellcheck shellcheck; then
    ok "shellcheck finds nothing in the scripts" shellcheck package packaging/checks.sh packaging/debian/p* \
      packaging/procd-stub.sh
    ok "shellcheck finds nothing in OpenWrt's init script" \
      shellcheck -s dash packaging/openwrt/files/goodqueue.init
  else
    skip "shellcheck is not installed"
  fi
  [ -n "$depends" ] || check_static
  ok "Debian package: the same bytes when it is made again" same_twice
  check_debian
  check_openwrt
  check_container
}
