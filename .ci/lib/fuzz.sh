#!/usr/bin/env bash
# Runs every fuzz target for a while, FUZZTIME each (10s unless set). go test
# fuzzes one target of one package at a time, so this asks for their names first.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

found=0
while read -r package; do
	while read -r target; do
		found=$((found + 1))
		say "$target in $package"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" "$package"
	done < <(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
say "$found fuzz targets"
