#!/usr/bin/env bash
# Checks docs/model/lease.pml: the model as it is must hold, and each of its
# broken variants must be refuted, or the model says nothing. Takes about a minute of one core.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

cd "$(dirname "$0")/../.."
model=$PWD/docs/model/lease.pml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# check SPINFLAGS CCFLAGS PANFLAGS: generates a checker, builds and runs it. Its report is in pan.out.
check() {
	# The three are lists of flags.
	# shellcheck disable=SC2086
	spin $1 -a "$model" >spin.out || die "spin: $(cat spin.out)"
	# NFAIR is for more than six processes, MEMLIM is in MiB.
	# shellcheck disable=SC2086
	cc -O2 -w -DNFAIR=3 -DMEMLIM=2048 $2 -o pan pan.c
	# shellcheck disable=SC2086
	./pan $3 -m100000 -b >pan.out || die "pan: $(cat pan.out)"
	grep -q 'errors: ' pan.out || die "pan gave no verdict: $(cat pan.out)"
}

states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out; }

# Without a claim a state in which nothing can move, and not everything has ended, is an error too.
safety='-DSAFETY -DNOCLAIM'
fair='-a -f'

holds() {
	local what=$1
	shift
	check "$@"
	if ! grep -q 'errors: 0$' pan.out || grep -q 'Search not completed' pan.out; then
		spin "$1" -t -p -g "$model" | tail -n 100 >&2 || true
		die "$what: $(grep -E '^pan:|errors:' pan.out)"
	fi
	say "$what: holds in all $(states) states"
}

refuted() {
	local what=$1
	shift
	check "$@"
	grep -q 'errors: 1$' pan.out || die "$what was not refuted: the model or its claims are too weak"
	say "$what: refuted, $(sed -n 's/^pan:1: \([a-z ]*\).*/\1/p' pan.out)after $(states) states"
}

holds 'safety, two faults' '-DFAULTS=2' "$safety" ''
holds 'every job ends, one fault' '-DFAULTS=1' '' "$fair"
refuted FENCE_IGNORES_EPOCH '-DFAULTS=2 -DFENCE_IGNORES_EPOCH' "$safety" ''
refuted WRITE_IGNORES_GUARD '-DFAULTS=2 -DWRITE_IGNORES_GUARD' "$safety" ''
refuted REPEAT_IS_ANOTHER '-DFAULTS=2 -DREPEAT_IS_ANOTHER' "$safety" ''
refuted CANCEL_IS_FORGOTTEN '-DFAULTS=2 -DCANCEL_IS_FORGOTTEN' "$safety" ''
refuted NO_SWEEP '-DFAULTS=1 -DNO_SWEEP' '' "$fair"
