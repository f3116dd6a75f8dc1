#!/usr/bin/env bash
# Ends the PostgreSQL cluster that ensure-postgres.sh started, and removes it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=.ci/lib/common.sh
. "$here/common.sh"
# shellcheck source=.ci/lib/postgres.sh
. "$here/postgres.sh"

dir=$(postgres_dir)
pidfile=$dir/data/postmaster.pid
if [ -e "$pidfile" ]; then
	pid=$(head -n 1 "$pidfile")
	# INT is the server's fast shutdown: it rolls back what is open and checkpoints.
	if kill -INT "$pid" 2>/dev/null && ! wait_until 30 test ! -e "$pidfile"; then
		die "PostgreSQL (pid $pid) has not ended within 30 s"
	fi
fi
rm -rf "$dir"
