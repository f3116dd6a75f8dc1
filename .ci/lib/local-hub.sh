# shellcheck shell=bash
# A hub, and a runner that is paired with it, in a temporary folder. Sourced
# after common.sh by the demo and the examples, which call:
#
#   start_hub       sets $hub_url; from here on runnerctl talks to that hub
#   pair_machine    pairs this machine
#   start_runner    in the background, with the given options
#   stop_runner     lets it finish, and returns its exit code
#
# Everything ends with the script that sourced this, however that ends. Nothing
# of the person's own is touched: configuration, state and credentials are in
# the temporary folder.

bin=${RUNNERHUB_BIN:-bin}
work=$(mktemp -d "${TMPDIR:-/tmp}/runnerhub-demo.XXXXXX")
hub_pid=
runner_pid=
runner=

export XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/share XDG_STATE_HOME=$work/state
export XDG_CACHE_HOME=$work/cache XDG_RUNTIME_DIR=$work/run
mkdir -m 0700 "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME" "$XDG_RUNTIME_DIR"
# Settings of the person's own hub must not reach this one.
while read -r name; do
	unset "$name"
done < <(compgen -e | grep -E '^(RUNNERHUB|RUNNERCTL)_' | grep -vE '^RUNNERHUB_(TEST|CI)_|^RUNNERHUB_BIN$' || true)

# end_process PID: asks, then insists; prints nothing about what has ended already.
end_process() {
	local pid=$1
	# shellcheck disable=SC2317 # called by wait_until
	gone() { ! kill -0 "$pid"; }
	kill -TERM "$pid" 2>/dev/null || return 0
	if ! wait_until 20 gone; then
		kill -KILL "$pid" 2>/dev/null || true
	fi
}

take_down() {
	local status=$?
	trap - EXIT
	[ -z "$runner_pid" ] || end_process "$runner_pid"
	[ -z "$hub_pid" ] || end_process "$hub_pid"
	# A runner that had to be killed could not clean up, and will not come back.
	remove_leftovers
	if [ "$status" -ne 0 ]; then
		local log
		for log in hub runner; do
			if [ -s "$work/$log.log" ]; then
				say "the end of the $log's log:"
				tail -n 30 "$work/$log.log" >&2
			fi
		done
	fi
	rm -rf "$work"
	exit "$status"
}
trap take_down EXIT
# Without these a signal would end the script before its trap for EXIT has run
# to the end.
trap 'exit 130' INT
trap 'exit 143' TERM HUP

start_hub() {
	"$bin/runnerhub" serve --addr 127.0.0.1:0 --data "$work/data" >"$work/hub.out" 2>"$work/hub.log" &
	hub_pid=$!
	# shellcheck disable=SC2317 # called by wait_until
	listening() { grep -q '^runnerhub listening on ' "$work/hub.out" || ! kill -0 "$hub_pid"; }
	wait_until 30 listening || die "the hub has not said within 30 s that it listens"
	hub_url=$(sed -n 's/^runnerhub listening on //p' "$work/hub.out")
	[ -n "$hub_url" ] || die "the hub has ended"
	RUNNERCTL_API_KEY=$(cat "$work/data/admin.key")
	export RUNNERCTL_API_KEY
}

pair_machine() {
	# The key goes in by stdin, as it should in any script: arguments and the
	# environment of other processes can be read by others. Storage in a file is
	# what a temporary folder is for, even where the machine has a keyring.
	"$bin/runnerctl" pair --hub "$hub_url" --api-key-stdin --label demo --insecure-storage \
		<"$work/data/admin.key" | tee "$work/pair.out"
	runner=$(grep -oE 'rnr-[0-9a-f-]+' "$work/pair.out" | head -n 1)
	[ -n "$runner" ] || die "pair has not said which runner it made"
}

start_runner() {
	"$bin/runnerctl" run "$@" >"$work/runner.log" 2>&1 &
	runner_pid=$!
}

stop_runner() {
	local status=0
	kill -TERM "$runner_pid" 2>/dev/null || true
	wait "$runner_pid" || status=$?
	runner_pid=
	return "$status"
}

# leftovers prints the containers, networks and volumes of our runner's that
# still are, each with its kind.
leftovers() {
	local ours=(--quiet --filter "label=runnerhub.runner=$runner")
	docker ps --all "${ours[@]}" | sed 's/^/container /'
	docker network ls "${ours[@]}" | sed 's/^/network /'
	docker volume ls "${ours[@]}" | sed 's/^/volume /'
}

remove_leftovers() {
	[ -n "$runner" ] || return 0
	local kind id
	while read -r kind id; do
		docker "$kind" rm --force "$id" >/dev/null 2>&1 || docker "$kind" rm "$id" >/dev/null 2>&1 || true
	done < <(leftovers)
}
