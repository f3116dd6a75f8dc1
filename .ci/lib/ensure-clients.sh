#!/usr/bin/env bash
# Makes sure that other people's MCP clients are there, for `make test-clients`,
# and prints the folder that has them. They are Node programs, and Node itself,
# from the npm registry, as cmd/clients/testdata/node/package-lock.json pins them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=.ci/lib/common.sh
. "$here/common.sh"

need npm npm
need node nodejs
source=$here/../../cmd/clients/testdata/node
version=$(cat "$source/package.json" "$source/package-lock.json" | sha256sum | cut -c1-16)
dir=$(state_dir)/clients-$version
if [ ! -x "$dir/node_modules/.bin/node" ]; then
	# Beside it and then renamed: what is there is whole.
	work=$(mktemp -d "$dir.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp "$source/package.json" "$source/package-lock.json" "$work"
	say "installing MCP's clients from the npm registry"
	# Standard output is for the folder. One that is too old to run them may install them: they bring their own Node.
	npm ci --prefix "$work" --no-audit --no-fund --engine-strict=false --loglevel=error >&2
	[ -x "$work/node_modules/.bin/node" ] || die "npm did not install Node; does its configuration forbid install scripts (npm config get ignore-scripts)?"
	mv -T "$work" "$dir" 2>/dev/null || [ -x "$dir/node_modules/.bin/node" ]
fi
printf '%s\n' "$dir"
