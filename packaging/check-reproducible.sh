#!/bin/bash
# Whether two builds are equal: of the tarball, the Debian package and the image, in folders of different names, one after the other, with
# another time zone and language, and with nothing that a cache has. Names what differs.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# $1 is the folder's name.
build() {
	mkdir -p "$work/$1/tmp"
	export TMPDIR=$work/$1/tmp OUT=$work/$1/out CCACHE_DISABLE=1
	packaging/deb.sh >/dev/null 2>&1
	TARBALL=$(packaging/dist.sh) packaging/image.sh >/dev/null
}

(TZ=UTC LANG=C build one)
(TZ=Asia/Tokyo LANG=en_US.UTF-8 build another-folder-with-a-longer-name)

# An archive of an image has the times of its own making; the digest of the manifest in it stands for all that the image is.
print_digests() { # in a subshell
	cd "$work/$1/out"
	sha256sum ./*.deb ./*.tar.gz ./*.spdx.json
	for archive in ./*-oci-*.tar; do
		echo "$(tar -xOf "$archive" index.json | sed 's/.*"digest":"\([^"]*\)".*/\1/')  $archive"
	done
}

(print_digests one) >"$work/one.txt"
(print_digests another-folder-with-a-longer-name) >"$work/another.txt"
cat "$work/one.txt"
diff "$work/one.txt" "$work/another.txt" || { echo "two builds differ" >&2; exit 1; }
