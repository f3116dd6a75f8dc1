#!/usr/bin/env bash
# Shows the main job from end to end: starts a hub, pairs this machine, submits
# examples/quickstart.yaml, follows its log, and takes everything down again.
#
# The last line is "demo: ok, job JOB_ID succeeded in N ms", where N counts from
# the submission to the end; any other end has a non-zero exit code.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=.ci/lib/common.sh
. .ci/lib/common.sh
# shellcheck source=.ci/lib/local-hub.sh
. .ci/lib/local-hub.sh

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n== %s\n' "$*"; }

now_ms() {
	# %N is GNU's; elsewhere seconds will do.
	local ns
	ns=$(date +%s%N)
	case $ns in
	*N) printf '%s000\n' "${ns%N}" ;;
	*) printf '%s\n' "$((ns / 1000000))" ;;
	esac
}

step "runnerhub serve"
start_hub
echo "the hub listens on $hub_url"

step "runnerctl pair --hub $hub_url --api-key-stdin --label demo"
pair_machine

step "runnerctl run --once (in the background)"
start_runner --once
echo "the runner waits for a job"

step "runnerctl submit examples/quickstart.yaml --follow"
began=$(now_ms)
"$bin/runnerctl" submit examples/quickstart.yaml --follow 2>&1 | tee "$work/submit.out"
took=$(($(now_ms) - began))
job=$(grep -oE 'job_[0-9a-f-]+' "$work/submit.out" | head -n 1)
[ -n "$job" ] || die "submit has not said which job it made"

step "runnerctl explain $job"
"$bin/runnerctl" explain "$job"

# --once ends by itself, when the last container and network are gone.
wait "$runner_pid" || die "the runner ended with exit code $?"
runner_pid=
left=$(leftovers)
[ -z "$left" ] || die "something is left behind: $left"

printf '\ndemo: ok, job %s succeeded in %s ms\n' "$job" "$took"
