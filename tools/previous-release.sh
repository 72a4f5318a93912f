#!/bin/bash
# Prints the path of an annals of the release before this one: of the newest tag v* below HEAD. It is built once, in a cache. Says on stderr,
# and prints nothing, where that cannot be done: this is no clone, or one without its past.
#
#     tools/previous-release.sh [TAG OR COMMIT]
set -eu
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/annals/releases
# Stands for the release before the first one, as long as there is no tag.
FIRST=19766f28176c56bf166d757b3d5905bfaf13bed2

leave_out() { # reason
	echo "$1: no earlier release can be built." >&2
	exit 0
}

cd "$(dirname "$0")/.."
git rev-parse --git-dir >/dev/null 2>&1 || leave_out "This is no clone"
wanted=${1:-$(git tag --list 'v[0-9]*' --merged HEAD --no-contains HEAD --sort=-version:refname | head -1)}
wanted=${wanted:-$FIRST}
commit=$(git rev-parse --quiet --verify "$wanted^{commit}") || leave_out "The clone has no $wanted"
folder=$CACHE/$commit
if [ ! -x "$folder/build/annals" ]; then
	echo "building annals $wanted in $folder" >&2
	rm -rf "$folder"
	mkdir -p "$folder"
	git archive "$commit" | tar -xC "$folder"
	(cd "$folder" && meson setup build && ninja -C build annals) >"$folder/log" 2>&1 || {
		tail -20 "$folder/log" >&2
		exit 1
	}
fi
echo "$folder/build/annals"
