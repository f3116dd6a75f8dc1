#!/usr/bin/env bash
# Sets up everything that the tests need, and prints it as export lines:
#
#   env=$(.ci/lib/test-env.sh) && eval "$env" && go test ./...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

"$here/ensure-cc.sh"
"$here/ensure-docker.sh"
"$here/ensure-images.sh"
"$here/ensure-keyring.sh"
"$here/ensure-lfs.sh"
# An assignment of its own: inside printf's arguments a failure would be lost.
postgres=$("$here/ensure-postgres.sh")
chromium=$("$here/ensure-chromium.sh")
registry=$("$here/ensure-registry.sh")
printf 'export CGO_ENABLED=1\n'
printf 'export RUNNERHUB_TEST_POSTGRES_URL=%q\n' "$postgres"
printf 'export RUNNERHUB_TEST_CHROMIUM=%q\n' "$chromium"
printf 'export RUNNERHUB_TEST_REGISTRY=%q\n' "$registry"
