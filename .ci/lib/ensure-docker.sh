#!/usr/bin/env bash
# Makes sure that a Docker engine answers to the docker command.
#
# Where none does and we are root on Debian, installs docker.io and starts it.
# Elsewhere says what to do: starting someone's Docker Desktop or changing
# their groups is not for a script.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

answers() { has docker && docker version --format '{{.Server.Version}}'; }

start_engine() {
	# A machine may have systemd's tools but not run systemd (containers, small
	# VMs); only /run/systemd/system says that it does.
	if [ -d /run/systemd/system ]; then
		systemctl start docker
		return
	fi
	local state
	state=$(state_dir)
	# An engine that was killed leaves its pid file, and the number may belong to
	# another process by now; dockerd would take that one for itself and give up.
	local pid
	pid=$(cat /var/run/docker.pid 2>/dev/null || true)
	if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != dockerd ]; then
		rm -f /var/run/docker.pid
	fi
	# setsid: the engine outlives the shell and the make that started it.
	setsid nohup dockerd >"$state/dockerd.log" 2>&1 </dev/null &
	printf '%s\n' "$!" >"$state/dockerd.pid"
	say "started dockerd (pid $!, log $state/dockerd.log)"
}

if answers >/dev/null 2>&1; then
	exit 0
fi

if [ -n "${DOCKER_HOST:-}" ]; then
	die "DOCKER_HOST is $DOCKER_HOST, but no engine answers there. Start it, or unset DOCKER_HOST"
fi

if ! can_apt; then
	say "no Docker engine answers. What to do:"
	case $(uname -s) in
	Darwin) say "    start Docker Desktop (or: brew install colima docker && colima start)" ;;
	Linux)
		say "    as root on Debian or Ubuntu:  apt-get install -y docker.io"
		say "    start it:                     sudo systemctl start docker"
		say "    let this user use it:         sudo usermod -aG docker $(id -un), then log in again"
		;;
	*) say "    start Docker Desktop" ;;
	esac
	if has docker; then
		say "the docker command itself says:"
		docker version --format '{{.Server.Version}}' >&2 || true
	fi
	exit 1
fi

if ! has dockerd || ! has docker; then
	# iptables is only recommended by docker.io, but the bridge network needs it.
	apt_install docker.io iptables
fi
start_engine
if ! wait_until 60 answers; then
	say "the engine did not answer within 60 s; the end of its log:"
	tail -n 20 "$(state_dir)/dockerd.log" >&2 || true
	exit 1
fi
say "the Docker engine answers, version $(answers)"
