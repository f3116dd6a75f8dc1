#!/usr/bin/env bash
# Makes sure that a Chromium is there, for the tests of the hub's pages, and
# prints its path. Set RUNNERHUB_TEST_CHROMIUM to use another one.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${RUNNERHUB_TEST_CHROMIUM:-}" ]; then
	printf '%s\n' "$RUNNERHUB_TEST_CHROMIUM"
	exit 0
fi
for name in chromium chromium-browser google-chrome; do
	if command -v "$name"; then
		exit 0
	fi
done
need chromium chromium
command -v chromium
