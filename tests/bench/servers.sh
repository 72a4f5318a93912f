#!/bin/bash
# What test servers cost: annals in memory, annals on etcd, and envtest's kube-apiserver and etcd, one and twenty of each.
# docs/explanation/performance.md has a run.
#
#     ANNALS_BIN=build/annals tests/bench/servers.sh [-servers 1,20] [-rounds 3]
#
# It needs Go, and what tests/cluster/build.sh has built into $PEERS (default ~/.cache/peers).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PEERS=${PEERS:-$HOME/.cache/peers}
ANNALS_BIN=$(realpath "${ANNALS_BIN:-$here/../../build/annals}")
folder=$(mktemp -d)
pid=
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	wait
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM
for program in kube-apiserver etcd kubectl; do
	ln -s "$PEERS/$program" "$folder/"
done
(cd "$here/servers" && go build -o "$folder/servers" .)
PATH=$folder:$PATH ANNALS_BIN=$ANNALS_BIN KUBEBUILDER_ASSETS=$folder "$folder/servers" "$@" &
pid=$!
wait "$pid"
