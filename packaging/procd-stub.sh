# What an init script of OpenWrt finds around it, as far as ours uses it. It writes down what would be done.
#
#   busybox sh packaging/procd-stub.sh INITSCRIPT CONFIG PROGRAM FUNCTION
#
# PROGRAM takes the place of the command. Instances of procd are printed, a line for each setting.
# shellcheck shell=dash disable=SC2154,SC2034 # eval and the init script set and read names
initscript=$1 config=$2 record=$3 function=$4

# /lib/functions.sh: sections are numbered, and their options are variables.
config_load() {
	sections=0
	while read -r word name value; do
		value=${value#[\"\']} value=${value%[\"\']}
		case $word in
		config) sections=$((sections + 1)); eval "type_$sections=\$name" ;;
		option) eval "option_${sections}_$name=\$value" ;;
		esac
	done <"$config"
}
config_foreach() {
	local section=0 type
	while [ "$section" -lt "$sections" ]; do
		section=$((section + 1))
		eval "type=\$type_$section"
		[ "$type" != "$2" ] || "$1" "$section"
	done
}
config_get() { eval "$1=\${option_$2_$3:-\${4:-}}"; }
config_get_bool() { config_get "$@"; }

# /lib/functions/procd.sh
procd_open_instance() { echo "instance $1"; }
procd_set_param() { echo "$*"; }
procd_close_instance() { :; }
procd_add_reload_trigger() { echo "reload when the configuration $* changes"; }
procd_add_raw_trigger() { echo "trigger $*"; }

logger() { cat; }

# shellcheck disable=SC1090
. "$initscript"
program=$record
"$function"
