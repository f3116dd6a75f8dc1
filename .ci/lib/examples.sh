#!/usr/bin/env bash
# Runs the examples on a hub and a runner of their own, and compares their exit
# codes with the table in examples/README.md. What needs a registry is left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=.ci/lib/common.sh
. .ci/lib/common.sh
# shellcheck source=.ci/lib/local-hub.sh
. .ci/lib/local-hub.sh

start_hub
pair_machine
# One example runs on the machine itself, as whoever runs this.
"$bin/runnerctl" policy set host_executor=true host_user="$(id -un)"
start_runner --slots 2

failed=0
for file in examples/*.yaml examples/*/job.yaml; do
	row=$(grep -F "[${file#examples/}]" examples/README.md) || die "examples/README.md has no row for $file"
	if [[ $row == *"needs a registry"* ]]; then
		say "$file needs a registry, left out"
		continue
	fi
	want=$(sed -E 's/.*\| *([0-9]+) *\|$/\1/' <<<"$row")
	got=0
	source=() # an example that is a folder starts with a copy of it
	[[ $file != */*/* ]] || source=(--source "${file%/*}")
	"$bin/runnerctl" submit "$file" "${source[@]}" --follow || got=$?
	if [ "$got" -ne "$want" ]; then
		say "$file ended with $got instead of $want"
		failed=1
	fi
done
stop_runner || die "the runner ended with exit code $?"
left=$(leftovers)
[ -z "$left" ] || die "something is left behind: $left"
exit "$failed"
