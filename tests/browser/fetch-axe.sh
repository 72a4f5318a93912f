#!/bin/bash
# Fetches axe-core, the accessibility checker, with npm into $PEERS/axe (default ~/.cache/peers/axe): the version and the content that are
# named here. What is there already stays. Where that cannot be done it says so, and the tests that need it are skipped.
set -eu
VERSION=4.14.1
SHA512=FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==
PEERS=${PEERS:-$HOME/.cache/peers}

leave_out() { # reason
	echo "$1: the accessibility checker is left out." >&2
	exit 0
}

[ "$(cat "$PEERS/axe/sha512" 2>/dev/null)" != "$SHA512" ] || exit 0
command -v npm >/dev/null || leave_out 'There is no "npm" on the PATH'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && timeout 60 npm pack --silent --fetch-retries=1 --fetch-timeout=20000 "axe-core@$VERSION") >/dev/null 2>&1 ||
	leave_out "npm cannot get axe-core $VERSION"
[ "$(openssl dgst -sha512 -binary "$folder/axe-core-$VERSION.tgz" | base64 -w0)" = "$SHA512" ] || {
	echo "axe-core $VERSION is not what it was." >&2
	exit 1
}
mkdir -p "$PEERS/axe"
tar -xzf "$folder/axe-core-$VERSION.tgz" -C "$folder" package/axe.min.js package/LICENSE
mv "$folder/package/axe.min.js" "$folder/package/LICENSE" "$PEERS/axe/"
echo "$SHA512" >"$PEERS/axe/sha512"
