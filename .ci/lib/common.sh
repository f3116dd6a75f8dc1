# shellcheck shell=bash
# Shared by the scripts in this folder. Sourced, never run.
#
# Messages go to stderr, so that a script's stdout stays what it promises to
# print (a URL, export lines) and can be captured.

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
	say "$*"
	exit 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }

has() { command -v "$1" >/dev/null 2>&1; }

# Where these scripts keep what outlives one call: the PostgreSQL cluster, pid
# files, logs. Root's home is closed to other users, and PostgreSQL refuses to
# run as root, so root's state lives where its server's user can reach it.
state_dir() {
	local dir=${RUNNERHUB_CI_STATE:-}
	if [ -z "$dir" ]; then
		if is_root; then
			dir=/var/cache/runnerhub-dev
		else
			dir=${XDG_CACHE_HOME:-$HOME/.cache}/runnerhub-dev
		fi
	fi
	mkdir -p "$dir"
	printf '%s\n' "$dir"
}

can_apt() { is_root && [ -e /etc/debian_version ] && has apt-get; }

# apt_install PACKAGE...: the lock time-out is for machines where unattended
# upgrades, or a second run of these scripts, hold dpkg for a while.
apt_install() {
	local opts=(-y -q --no-install-recommends -o DPkg::Lock::Timeout=300)
	say "installing $*"
	if ! DEBIAN_FRONTEND=noninteractive apt-get install "${opts[@]}" "$@" >&2; then
		# The package lists may be old or absent, as they are in a new image.
		apt-get update -q >&2
		DEBIAN_FRONTEND=noninteractive apt-get install "${opts[@]}" "$@" >&2
	fi
}

# need COMMAND PACKAGE...: makes sure that COMMAND is there, by Debian's
# packages where we may install them, or else says which ones to install.
need() {
	local command=$1
	shift
	if has "$command"; then
		return 0
	fi
	if can_apt; then
		apt_install "$@"
		has "$command" || die "$* is installed, but there is still no '$command' in PATH"
		return 0
	fi
	say "'$command' is missing and this user cannot install it. On Debian or Ubuntu run:"
	say "    sudo apt-get install -y --no-install-recommends $*"
	die "elsewhere install the package that has '$command', then try again"
}

# wait_until SECONDS COMMAND...: polls ten times a second.
wait_until() {
	local tries=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		if [ "$tries" -le 0 ]; then
			return 1
		fi
		sleep 0.1
	done
}
