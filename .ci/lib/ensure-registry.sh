#!/usr/bin/env bash
# Makes sure that Debian's docker-registry is there. Tests of image pulls start
# one of their own on a loopback port; nothing is pulled from outside.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

need docker-registry docker-registry
command -v docker-registry
