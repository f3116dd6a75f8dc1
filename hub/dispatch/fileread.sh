# Answers what is at a path below a folder, for hub/dispatch/files.go, in whatever sh a container has. Arguments: the folder ("."
# is the one that it starts in), bytes to pass over, the most bytes and the most entries to answer, the path's elements.
# Standard error has one line: "file SIZE", and then standard output has bytes of it; or "folder ENTRIES", and then standard output
# has each one's type and name with a zero byte after them, and after another one their sizes, one a line, where all are known.
# Another exit code than 0 says why not, with words.
offset=$2 most=$3 entries=$4
shift 4
while [ $# -gt 1 ]; do
	[ -d "./$1" ] || { [ -e "./$1" ] && refuse 62 "$1 is no folder"; refuse 61 "there is no $1"; }
	cd -P "./$1" || exit 65
	where; within "$at"
	shift
done
name=./${1:-.}
if [ -L "$name" ]; then
	to=$(readlink -f "$name" 2>/dev/null && printf .)
	[ -n "$to" ] || refuse 61 'it is a link that leads nowhere'
	name=${to%??}
	within "$name"
fi

if [ -d "$name" ]; then
	cd "$name" || exit 65
	[ -r . ] || refuse 65 'permission denied'
	n=0
	set --
	for f in .[!.]* ..?* *; do
		[ -e "./$f" ] || [ -L "./$f" ] || continue
		n=$((n + 1))
		[ "$n" -le "$entries" ] || continue
		set -- "$@" "./$f"
		type=other
		if [ -L "./$f" ]; then type=link
		elif [ -d "./$f" ]; then type=folder
		elif [ -f "./$f" ]; then type=file
		fi
		printf '%s\0%s\0' "$type" "$f"
	done
	printf '\0'
	[ "$n" -eq 0 ] || stat -c %s "$@" 2>/dev/null
	printf 'folder %s\n' "$n" >&2
	exit 0
fi
[ -e "$name" ] || refuse 61 'there is no such file'
[ -f "$name" ] || refuse 62 'it is neither a file nor a folder'
[ -r "$name" ] || refuse 65 'permission denied'
size=$(stat -c %s "$name" 2>/dev/null) || size=$(wc -c <"$name") || exit 65
printf 'file %s\n' "$size" >&2
if [ "$offset" -eq 0 ]; then head -c "$most" "$name"
else tail -c +$((offset + 1)) "$name" 2>/dev/null | head -c "$most"
fi
