#!/usr/bin/env bash
# Ends the Docker engine if ensure-docker.sh started it; never anyone else's.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

pidfile=$(state_dir)/dockerd.pid
[ -e "$pidfile" ] || exit 0
pid=$(cat "$pidfile")
gone() { ! kill -0 "$pid" 2>/dev/null; }
# The number may have gone to another process since a reboot.
if ! gone && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ]; then
	kill "$pid"
	wait_until 60 gone || die "dockerd (pid $pid) has not ended within 60 s"
fi
rm -f "$pidfile"
