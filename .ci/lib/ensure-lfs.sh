#!/usr/bin/env bash
# Makes sure that git-lfs is there, for the tests of sources with large files.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

need git-lfs git-lfs
