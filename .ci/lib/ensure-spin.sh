#!/usr/bin/env bash
# Makes sure that the model checker and the C compiler that it needs are there, for make model.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=.ci/lib/common.sh
. "$here/common.sh"

"$here/ensure-cc.sh"
need spin spin
