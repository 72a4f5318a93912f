#!/bin/bash
# Fetches promtool, which checks rules of Prometheus, into $PEERS (default ~/.cache/peers): out of Debian's or Ubuntu's package, without
# installing it, because that would start a Prometheus. What is there stays. Where it cannot be done it says so, and its tests are skipped.
set -eu
PEERS=${PEERS:-$HOME/.cache/peers}

leave_out() { # reason
	echo "$1: the checks with promtool are left out." >&2
	exit 0
}

command -v promtool >/dev/null && exit 0
[ ! -x "$PEERS/promtool" ] || exit 0
command -v apt-get >/dev/null || leave_out "There is no apt-get"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder" # apt downloads as a user of its own
(cd "$folder" && timeout 120 apt-get download -q prometheus) >/dev/null 2>&1 || leave_out "apt-get cannot get the package prometheus"
dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar -xC "$folder" ./usr/bin/promtool
mkdir -p "$PEERS"
mv "$folder/usr/bin/promtool" "$PEERS/"
