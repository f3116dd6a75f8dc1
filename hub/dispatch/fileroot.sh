# Begins the scripts of hub/dispatch/files.go: goes to the folder that is their first argument, and says of a path whether it leads out of there.
[ -z "$ZSH_VERSION" ] || emulate sh
refuse() { printf '%s\n' "$2" >&2; exit "$1"; }
where() { at=$(pwd -P; printf .); at=${at%??}; } # the point keeps line ends of a name that $(…) would take
within() { case $1/ in "$root"/*) ;; *) refuse 63 'it leads out of there' ;; esac; }

cd -P "$1" || exit 65
where; root=$at; [ "$root" = / ] && root=
