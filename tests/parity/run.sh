#!/usr/bin/env bash
# Replays exchanges recorded from a real kube-apiserver against annals.
#
#   tests/parity/run.sh FOLDER [parity.py's options: -v, --group GLOB, --case GLOB ...]
#
# FOLDER holds parity.py and expected-open.jsonl. Starts an etcd and `annals serve --standalone` of its own, stops both.
# ANNALS_BIN (build/annals), ETCD (etcd on PATH) and EXPECTED (FOLDER/expected-open.jsonl) may name others.
set -euo pipefail
parity=$(cd "${1:?usage: run.sh FOLDER [options of parity.py]}" && pwd)
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
annals=${ANNALS_BIN:-$root/build/annals}
etcd=${ETCD:-etcd}
work=$(mktemp -d)
pids=()
stop() {
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap stop EXIT

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
client=$(free_port)
peer=$(free_port)
port=$(free_port)

"$etcd" --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
	--listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
	--initial-cluster "default=http://127.0.0.1:$peer" >"$work/etcd.log" 2>&1 &
pids+=($!)

cd "$work"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=parity-ca -days 2 2>/dev/null
certificate() { # NAME SUBJECT EXTENSION
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
	openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -out "$1.crt" -days 2 -extfile <(printf '%s' "$3") 2>/dev/null
}
certificate server /CN=annals subjectAltName=IP:127.0.0.1,DNS:localhost
certificate admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth

"$annals" serve --standalone --etcd-servers "http://127.0.0.1:$client" --secure-port "$port" --bind-address 127.0.0.1 \
	--tls-cert-file server.crt --tls-private-key-file server.key --client-ca-file ca.crt --access-log access.log >annals.log 2>&1 &
pids+=($!)
tls=(--cacert ca.crt --cert admin.crt --key admin.key)
for _ in $(seq 300); do
	curl -sf "${tls[@]}" "https://127.0.0.1:$port/readyz" >/dev/null && curl -sf "${tls[@]}" \
		"https://127.0.0.1:$port/api/v1/namespaces/kube-system" >/dev/null && break
	sleep 0.1
done

# What an operator's compaction looks like to annals: kube-apiserver's key moves, etcd forgets (storage/upkeep.h).
cat >compact <<-HOOK
	#!/usr/bin/env bash
	set -e
	export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=http://127.0.0.1:$client
	revision() { etcdctl get / --limit 1 -w json | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["revision"])'; }
	at=\$(revision)
	etcdctl put /annals/compact_rev_key "\$at"
	etcdctl compact "\$at"
	want=\$(revision)
	for _ in \$(seq 100); do
		have=\$(curl -s --cacert ca.crt --cert admin.crt --key admin.key https://127.0.0.1:$port/metrics | sed -n 's/^annals_cache_revision //p')
		[ "\${have:-0}" -ge "\$want" ] && exit 0
		sleep 0.05
	done
	exit 1
HOOK
chmod +x compact
status=0
python3 "$parity/parity.py" replay --server "https://127.0.0.1:$port" --ca ca.crt --cert admin.crt --key admin.key \
	--hook compact="cd $work && ./compact" "$@" "${EXPECTED:-$parity/expected-open.jsonl}" || status=$?
kill -0 "${pids[1]}" 2>/dev/null || { echo "annals died:"; tail -40 annals.log; exit 1; }
exit $status
