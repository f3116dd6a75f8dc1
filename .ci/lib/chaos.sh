#!/usr/bin/env bash
# Breaks everything around hubs and runners for DURATION (3m) and looks whether
# every promise was kept: on PostgreSQL, then on SQLite. SEED names the faults
# and the jobs; SEEDS=N takes N seeds in a row, SEED, SEED+1 and so on. STORE=SQLite
# or STORE=Postgres takes one of the two.
#
# The harness has the race detector. The hub is the program that people get. The
# runners are built with a calendar that CHAOS_CLOCK_SKEW sets wrong by so many
# seconds: the standard library's time.Now is changed for that, nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=.ci/lib/common.sh
. .ci/lib/common.sh

work=$(mktemp -d "${TMPDIR:-/tmp}/runnerhub-chaos-build.XXXXXX")
trap 'rm -rf "$work"' EXIT

# skewed FILE: the time package's file, with a calendar that can be wrong.
skewed() {
	local now='^	sec, nsec, mono := runtimeNow\(\)$'
	[ "$(grep -cE "$now" "$1")" = 1 ] || die "time.Now reads differently in $(go version); .ci/lib/chaos.sh has to be adapted"
	sed -E -e 's/^import \(/&\n\t"syscall"/' -e "s/$now/&\n\tsec += clockSkew/" "$1"
	cat <<-'GO'

		var clockSkew = func() (n int64) {
			s, _ := syscall.Getenv("CHAOS_CLOCK_SKEW")
			for _, c := range []byte(s) {
				n = 10*n + int64(c-'0')
			}
			return n
		}()
	GO
}

time_go=$(go env GOROOT)/src/time/time.go
skewed "$time_go" >"$work/time.go"
printf '{"Replace": {"%s": "%s"}}\n' "$time_go" "$work/time.go" >"$work/overlay.json"
say "building"
CGO_ENABLED=0 go build -trimpath -o "$work/runnerhub" ./cmd/runnerhub
CGO_ENABLED=0 go build -trimpath -overlay "$work/overlay.json" -o "$work/chaos" ./cmd/chaos
go test -race -c -o "$work/chaos.test" ./cmd/chaos

export CHAOS_HUB=$work/runnerhub CHAOS_RUNNER=$work/chaos CHAOS_DURATION=${DURATION:-3m}
first=${SEED:-$((RANDOM * 32768 + RANDOM))}
failed=()
for ((CHAOS_SEED = first; CHAOS_SEED < first + ${SEEDS:-1}; CHAOS_SEED++)); do
	export CHAOS_SEED
	"$work/chaos.test" -test.v -test.timeout 60m -test.run "^Test${STORE:-(Postgres|SQLite)}\$" || failed+=("$CHAOS_SEED")
done
[ "${#failed[@]}" -eq 0 ] || die "promises were broken with the seeds ${failed[*]}"
say "every promise was kept with ${SEEDS:-1} seeds from $first on"
