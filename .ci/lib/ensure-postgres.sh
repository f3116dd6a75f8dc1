#!/usr/bin/env bash
# Makes sure that a private PostgreSQL cluster runs, and prints its URL.
#
# The cluster is for tests alone: it lives in the state folder, listens on a
# unix socket and on a free loopback port, has a random password, and keeps
# PostgreSQL's default durability, because the store is tested for what it
# survives. stop-postgres.sh ends it. Set RUNNERHUB_TEST_POSTGRES_URL to use a
# server of your own instead; its user must be allowed to create databases.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=.ci/lib/common.sh
. "$here/common.sh"
# shellcheck source=.ci/lib/postgres.sh
. "$here/postgres.sh"

if [ -n "${RUNNERHUB_TEST_POSTGRES_URL:-}" ]; then
	printf '%s\n' "$RUNNERHUB_TEST_POSTGRES_URL"
	exit 0
fi

find_bin() {
	local dir
	# Debian's pg_config names the binaries only where the development package
	# is installed; the folders by version are always there, newest last.
	if has pg_config && [ -x "$(pg_config --bindir)/initdb" ]; then
		pg_config --bindir
		return
	fi
	dir=$(find /usr/lib/postgresql /usr/local /opt/homebrew/opt -maxdepth 4 -name initdb 2>/dev/null | sort -V | tail -n 1)
	[ -n "$dir" ] && dirname "$dir"
}

if ! bin=$(find_bin); then
	can_apt || die "there is no PostgreSQL server here. On Debian or Ubuntu run: sudo apt-get install -y postgresql. Or set RUNNERHUB_TEST_POSTGRES_URL"
	apt_install postgresql
	bin=$(find_bin) || die "postgresql is installed, but its initdb is not to be found"
fi

dir=$(postgres_dir)
socket=$dir/socket
# A unix socket's path holds about 100 bytes, and the file's name is part of it.
if [ "${#socket}" -gt 80 ]; then
	die "the path $socket is too long for a unix socket; set RUNNERHUB_CI_STATE to a shorter folder"
fi

# Two runs at once must not both create the cluster.
exec 9>"$(state_dir)/postgres.lock"
has flock && flock 9

if as_server "$bin/pg_ctl" status -D "$dir/data" >/dev/null 2>&1; then
	cat "$dir/url"
	exit 0
fi

create() {
	rm -rf "$dir"
	mkdir -p "$dir" "$socket"
	chmod 0700 "$dir"
	od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$dir/password"
	chmod 0600 "$dir/password"
	is_root && chown -R postgres: "$dir"
	as_server "$bin/initdb" -D "$dir/data" -U runnerhub -A scram-sha-256 --pwfile="$dir/password" \
		-E UTF8 --locale=C >"$dir.initdb.log" 2>&1 9>&- || {
		cat "$dir.initdb.log" >&2
		die "initdb failed"
	}
	rm -f "$dir.initdb.log"
}

if [ ! -e "$dir/data/PG_VERSION" ] ||
	[ "$(cat "$dir/data/PG_VERSION")" != "$("$bin/postgres" --version | sed -E 's/.* ([0-9]+)\..*/\1/')" ]; then
	create
fi

# A free port is only known to be free by taking it, so a lost race tries again.
for _ in 1 2 3 4 5; do
	port=$((20000 + RANDOM % 10000))
	if (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; then
		continue
	fi
	# max_connections: every test has a database and a pool of its own.
	if as_server "$bin/pg_ctl" start -w -t 60 -D "$dir/data" -l "$dir/log" \
		-o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='$socket' -c max_connections=300" \
		>/dev/null 9>&-; then
		printf 'postgres://runnerhub:%s@127.0.0.1:%s/postgres?sslmode=disable\n' "$(cat "$dir/password")" "$port" >"$dir/url"
		chmod 0600 "$dir/url"
		say "PostgreSQL listens on 127.0.0.1:$port, log $dir/log"
		cat "$dir/url"
		exit 0
	fi
done
tail -n 20 "$dir/log" >&2 || true
die "PostgreSQL did not start"
