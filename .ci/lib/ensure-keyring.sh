#!/usr/bin/env bash
# Makes sure that a Secret Service can be started: the tests run gnome-keyring in
# a D-Bus session of their own, never in the session of whoever runs them.
set -euo pipefail
# shellcheck source=.ci/lib/common.sh
. "$(dirname "$0")/common.sh"

case $(uname -s) in
Linux) ;;
*) exit 0 ;; # the keyring is part of the system there
esac
need dbus-daemon dbus-daemon
need dbus-run-session dbus-daemon
need gnome-keyring-daemon gnome-keyring
need secret-tool libsecret-tools
