#!/usr/bin/env bash
# Makes sure that shellcheck is there, for make lint.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

need shellcheck shellcheck
