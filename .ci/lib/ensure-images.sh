#!/usr/bin/env bash
# Builds the images that the tests, the demo and the examples run, from Debian's
# busybox-static alone, so that no image registry is needed:
#
#   runnerhub/busybox:local     no ENTRYPOINT, no CMD; every applet is in /bin
#   runnerhub/entrypoint:local  the same with an ENTRYPOINT, a CMD, an ENV, a
#                               WORKDIR and a USER, to see that they hold
#   runnerhub/foreign:local     the same for a platform that this machine is not
#
# An image whose version label already matches is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=.ci/lib/common.sh
. "$here/common.sh"

need docker docker.io
docker version --format '{{.Server.Version}}' >/dev/null 2>&1 ||
	die "no Docker engine answers; run $here/ensure-docker.sh"

# Any static busybox does; Debian's is the one that we can install.
busybox=${RUNNERHUB_BUSYBOX:-}
if [ -z "$busybox" ]; then
	need busybox busybox-static
	busybox=$(command -v busybox)
fi
if ldd "$busybox" 2>/dev/null | grep -q '=>'; then
	can_apt || die "$busybox is not static. Install busybox-static, or name a static one in RUNNERHUB_BUSYBOX"
	apt_install busybox-static
fi

# This script's own text is part of the version: a change here rebuilds.
version=$(cat "$busybox" "$0" | sha256sum | cut -c1-16)

is_current() {
	[ "$(docker image inspect --format '{{index .Config.Labels "org.opencontainers.image.version"}}' "$1" 2>/dev/null)" = "$version" ]
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make_root() {
	local root=$1 applet
	mkdir -p "$root"/{bin,dev,etc,proc,root,sys,tmp,usr/bin,var,work}
	chmod 1777 "$root/tmp"
	install -m 0755 "$busybox" "$root/bin/busybox"
	for applet in $("$busybox" --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
	# env is looked for in /usr/bin by every portable script.
	ln -s ../../bin/busybox "$root/usr/bin/env"
	printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'nobody:x:65534:65534:nobody:/:/bin/sh' >"$root/etc/passwd"
	printf '%s\n' 'root:x:0:' 'nobody:x:65534:' >"$root/etc/group"
}

# import_image NAME [docker import option...]
import_image() {
	local name=$1
	shift
	if is_current "$name"; then
		return 0
	fi
	if [ ! -e "$work/root.tar" ]; then
		make_root "$work/root"
		# Fixed order, times and owners: the same binary gives the same layer.
		tar -C "$work/root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/root.tar" .
	fi
	local previous
	previous=$(docker image inspect --format '{{.Id}}' "$name" 2>/dev/null || true)
	docker import \
		--change 'ENV PATH=/bin:/usr/bin' \
		--change "LABEL org.opencontainers.image.version=$version" \
		"$@" "$work/root.tar" "$name" >/dev/null
	# A container may still use it; then it goes at the next change.
	[ -z "$previous" ] || docker image rm "$previous" >/dev/null 2>&1 || true
	say "built $name"
}

case $(docker version --format '{{.Server.Arch}}') in
amd64) foreign=linux/arm64 ;;
*) foreign=linux/amd64 ;;
esac

import_image runnerhub/busybox:local
# shellcheck disable=SC2016 # the container's shell expands these
import_image runnerhub/entrypoint:local \
	--change 'ENTRYPOINT ["/bin/sh", "-c", "echo entrypoint \"$@\" in $PWD as $(id -un), GREETING=$GREETING", "entrypoint"]' \
	--change 'CMD ["default", "words"]' \
	--change 'ENV GREETING=hello' \
	--change 'WORKDIR /work' \
	--change 'USER nobody'
import_image runnerhub/foreign:local --platform "$foreign"
