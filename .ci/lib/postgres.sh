# shellcheck shell=bash
# What ensure-postgres.sh and stop-postgres.sh share. Sourced after common.sh.

postgres_dir() { printf '%s/postgres\n' "$(state_dir)"; }

# as_server COMMAND...: the server refuses to run as root, so root borrows the
# user that the package has made for it. / is a folder which that user can enter.
as_server() {
	if is_root; then
		(cd / && runuser -u postgres -- "$@")
	else
		"$@"
	fi
}
