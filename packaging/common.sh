# What the scripts of this folder have in common; they source it. What is committed is what is packaged.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."

refuse() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

VERSION=$(sed -n "s/^\tversion: '\(.*\)',$/\1/p" meson.build)
OUT=$(readlink -m "${OUT:-dist}")
git rev-parse --verify -q HEAD >/dev/null || refuse "packages are made of a commit, and there is none here"
COMMIT=$(git rev-parse HEAD)
COMMIT_DATE=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
# No file, and nothing in one, has a later time.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export COMMIT COMMIT_DATE SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

# The sources, in a new folder.
lay_sources() {
	mkdir -p "$1"
	git archive HEAD | tar -x -C "$1"
	[ -z "$(git status --porcelain --untracked-files=no)" ] ||
		echo "$(basename "$0"): changes that are not committed are left out" >&2
}
