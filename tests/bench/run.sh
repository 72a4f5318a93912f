#!/bin/bash
# Measures annals beside kube-apiserver, and behind it beside sample-apiserver: docs/explanation/performance.md. Arguments go to the load generator
# (-h lists them).
#   tests/bench/run.sh -only '^get|^list' -rounds 3
#   tests/bench/run.sh -only '^hop|^direct'             # behind kube-apiserver alone
# BUILD (build) is where annals is, PEERS (~/.cache/peers) where tests/cluster/build.sh has put the others.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/programs.sh

if ! has_go; then
	echo "The measurements over HTTP need Go 1.22 or newer, and there is none on the PATH: only those of single modules are made." >&2
	ninja -C "$BUILD" tests/bench/api_bench tests/bench/cache_bench
	"$BUILD/tests/bench/api_bench"
	exec "$BUILD/tests/bench/cache_bench"
fi
if [ ! -x "$PEERS/kube-apiserver" ]; then
	echo "No kube-apiserver in $PEERS (tests/cluster/build.sh makes one): annals is measured alone, without ratios." >&2
fi
tools/install-deps.sh run bench
ninja -C "$BUILD" tests/bench/bare_server >&2
rm -f "$BUILD/bench.json"
(load -bare "$BUILD/tests/bench/bare_server" -json "$BUILD/bench.json" "$@")
case " $* " in
*" -only "*) ;;
*) ANNALS_BIN=$ANNALS_BIN tests/bench/recorder.py --cost --json "$BUILD/bench.json" ;;
esac
if [ -e "$BUILD/bench.json" ]; then # or the arguments have named another file
	echo
	tools/bench-figures.py "$BUILD/bench.json"
fi
