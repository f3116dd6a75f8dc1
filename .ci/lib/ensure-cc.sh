#!/usr/bin/env bash
# Makes sure that a C compiler is there: the race detector is the one thing that
# needs cgo. The programs themselves are built without.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

case $(uname -s) in
Darwin) has cc || die "no C compiler; run: xcode-select --install" ;;
*) need gcc gcc libc6-dev ;;
esac
