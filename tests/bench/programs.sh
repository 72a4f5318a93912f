# Sourced in the root of the project: finds the programs of a run, and makes the load generator.
BUILD=${BUILD:-build}
PEERS=${PEERS:-$HOME/.cache/peers}
ANNALS_BIN=${ANNALS_BIN:-$BUILD/annals}

has_go() {
	local version
	version=$(go env GOVERSION 2>/dev/null) || return 1
	[ "$(printf '%s\n' go1.22 "$version" | sort -V | head -n 1)" = go1.22 ]
}

# Both servers get the same etcd: the one built beside kube-apiserver, or the system's.
load() {
	local etcd=etcd options=(-annals "$ANNALS_BIN" -script tests/bench/paths.lua)
	if [ -x "$PEERS/etcd" ]; then
		etcd=$PEERS/etcd
	fi
	if [ -x "$PEERS/kube-apiserver" ]; then
		options+=(-kube "$PEERS/kube-apiserver")
	fi
	if [ -x "$PEERS/sample-apiserver" ]; then
		options+=(-sample "$PEERS/sample-apiserver")
	fi
	go build -C tests/bench/load -o "$(realpath "$BUILD")/bench-load" .
	exec "$BUILD/bench-load" "${options[@]}" -etcd "$etcd" "$@"
}
