# Puts standard input in the place of a file below a folder, for hub/dispatch/files.go, in whatever sh a container has. Arguments: the
# folder ("." is the one that it starts in), how many bytes there are, permissions ("" keeps the file's, or 644), a word for the name meanwhile, the path's elements.
# Folders on the way are made. Standard output says "new" or "replaced"; another exit code than 0 says why not, with words.
bytes=$2 mode=$3 word=$4
shift 4
while [ $# -gt 1 ]; do
	[ -e "./$1" ] || [ -L "./$1" ] || mkdir "./$1" || [ -d "./$1" ] || exit 65
	[ -d "./$1" ] || refuse 62 "$1 is no folder"
	cd -P "./$1" || exit 65
	where; within "$at"
	shift
done
name=./$1
if [ -L "$name" ]; then # what it leads to is meant
	to=$(readlink -f "$name" 2>/dev/null && printf .)
	[ -n "$to" ] || refuse 61 'it is a link that leads nowhere'
	name=${to%??}
	within "$name"
fi
[ -d "$name" ] && refuse 62 'it is a folder'
done=new owner=
if [ -e "$name" ]; then
	[ -f "$name" ] || refuse 62 'it is no file'
	done=replaced
	mode=${mode:-$(stat -c %a "$name" 2>/dev/null)} owner=$(stat -c %u:%g "$name" 2>/dev/null)
fi

# A whole file takes the place, or none.
new=${name%/*}/.runnerhub-$word
trap 'rm -f "$new"' 0
trap 'exit 65' HUP INT TERM
set -C # never into a file or link that is there
cat >"$new" || exit 65
set +C
[ "$(($(wc -c <"$new")))" -eq "$bytes" ] || refuse 65 'it did not arrive whole'
[ -z "$owner" ] || chown "$owner" "$new" 2>/dev/null # the superuser can; others own what they write
chmod "${mode:-644}" "$new" || exit 65
mv -f "$new" "$name" || exit 65
echo "$done"
