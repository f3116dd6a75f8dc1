#!/usr/bin/env bash
# Builds both programs without cgo for every system that we support, into
# dist/SYSTEM_PROCESSOR. The linker's flags are in LDFLAGS.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

export CGO_ENABLED=0
for GOOS in linux darwin windows; do
	for GOARCH in amd64 arm64; do
		export GOOS GOARCH
		out=dist/${GOOS}_$GOARCH
		mkdir -p "$out"
		go build -trimpath -ldflags "${LDFLAGS:-}" -o "$out/" ./cmd/runnerhub ./cmd/runnerctl
		say "built $out"
	done
	# Tests are not run for the other systems, but they must compile. Listing the
	# export data compiles them without linking; one processor is enough.
	go list -trimpath -test -export -f '{{.ImportPath}}' ./... >/dev/null
	say "the tests compile for $GOOS"
done
