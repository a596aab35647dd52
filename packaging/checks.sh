# What `./package` checks of the packages that it has built. It is sourced there, and uses `ok`, `skip` and `needs`.
# shellcheck shell=bash disable=SC2154 # ./package sets out, work, version, platforms, program, depends

# Debian without packages that are not essential, outside of the tree; unpacked for each run.
cache=${GOODQUEUE_DEBIAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/goodqueue/debian-1.tar}
root=$work/root
base_system() {
  [ ! -s "$cache" ] || return 0
  needs mmdebstrap mmdebstrap || return
  mkdir -p "$(dirname "$cache")" &&
    (. /etc/os-release && mmdebstrap --quiet --variant=essential "$VERSION_CODENAME" "$cache.new.tar") >"$work/base" 2>&1 &&
    mv "$cache.new.tar" "$cache"
}

server=
end_checks() { [ -z "$server" ] || kill "$server" 2>/dev/null; }

# says STATUS WORDS COMMAND...: it ends with this exit code and says these words
says() {
  local status=$1 words=$2 end=0; shift 2
  "$@" >"$work/said" 2>&1 || end=$?
  cat "$work/said"
  [ "$end" -eq "$status" ] || { echo "exit code $end, not $status: $*"; return 1; }
  grep -q -- "$words" "$work/said" || { echo "it does not say: $words"; return 1; }
}

# inside COMMAND...: as root of the clean system, with a network of its own; /run and /tmp are empty and forgotten
inside() {
  unshare --mount --net --pid --fork --kill-child bash -c 'root=$1; shift
    mount -t proc proc "$root/proc" && mount -t tmpfs run "$root/run" && mount -t tmpfs tmp "$root/tmp" || exit 125
    ip link set lo up; ip link add eth0 type veth peer name eth1; ip link set eth0 up
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      chroot "$root" "$@"' bash "$root" "$@"
}
# as RIGHTS COMMAND...: as nobody with these capabilities and no others (`+net_admin,+net_raw`; none: `-all`)
as() {
  local rights=$1; shift
  inside setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all,$rights" --ambient-caps="-all,$rights" "$@"
}

# everything_in ROOT: each file with mode, owner and content, without what dpkg keeps of the past
everything_in() {
  (cd "$root" && find . -xdev ! -path './var/lib/dpkg/*-old' ! -path './var/log/dpkg.log' ! -path './var/lib/dpkg/lock*' \
    ! -path './var/lib/dpkg/triggers/Lock' -printf '%P %y %m %U:%G %l\n' -type f -exec md5sum {} \;) | LC_ALL=C sort
}
same_as_before() { everything_in >"$work/after"; diff "$work/before" "$work/after"; }
pages_read() {
  local page
  for page in "$root"/usr/share/man/man1/goodqueue*; do
    MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >"$work/page" | sed "s|^|${page##*/}: |"
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
  fish --no-config -c "source $root/usr/share/fish/vendor_completions.d/goodqueue.fish; complete -C 'goodqueue sq'" |
    grep '^sqm'
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
  local unit=$root/usr/lib/systemd/system/goodqueue-server.service word
  grep -q '^ExecStart=/usr/bin/goodqueue server ' "$unit" && ! grep -q /usr/local "$unit" &&
    [ -x "$root/usr/bin/goodqueue" ]
}

check_debian() {
  local file=$out/goodqueue_${version}_${debian[$(uname -m)]}.deb platform
  if needs lintian lintian; then
    # A quick package has a program that is linked with libraries.
    for platform in $platforms; do
      ok "Debian package for ${debian[$platform]}: lintian finds nothing" lintian --fail-on error,warning \
        --tag-display-limit 0 --suppress-tags "initial-upload-closes-no-bugs${depends:+,missing-depends-line}" \
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
  ok "clean Debian: simulates, as nobody" as -all goodqueue run rrul --length 2s --idle 1s --queue fq_codel --quiet
  ok "clean Debian: the service runs what is there" unit_runs_what_is_there
  ok "clean Debian: bash completes" completes_in_bash
  if needs man man-db; then
    ok "clean Debian: every man page reads without a warning" pages_read
  else
    skip "man pages: there is no man (package man-db)"
  fi
  if needs fish fish; then ok "clean Debian: fish completes" completes_in_fish; else skip "fish is not installed"; fi
  if needs zsh zsh; then ok "clean Debian: zsh completes" completes_in_zsh; else skip "zsh is not installed"; fi
  check_rights
  ok "clean Debian: the service is off until its owner enables it" enabled_by_its_owner
  ok "clean Debian: removes" inside dpkg -r goodqueue
  ok "clean Debian: the program is gone" [ ! -e "$root/usr/bin/goodqueue" ]
  ok "clean Debian: purges" inside dpkg -P goodqueue
  ok "clean Debian: nothing is left behind" same_as_before
}

# The table of docs/install.md, line by line.
check_rights() {
  :
}

check_packages() {
  check_debian
}
