#!/bin/bash
# Builds what annals is tested against, from published Go modules, into $PEERS (default ~/.cache/peers): kube-apiserver,
# kube-controller-manager and kubectl v1.36.3, sample-apiserver v0.36.3, etcd, etcdctl and etcdutl v3.6.16, helm v3.21.4, kube-storage-version-migrator, h2spec; and
# fetches its definitions and cert-manager's. Minutes the first time; what is there in the right version stays. Then
# Kubernetes' own tests of StatefulSets, the tests written in Go, which client-go, controller-runtime and Kubernetes' own library for revisions are part of,
# annalstest and the examples, Python's packages, and the tests written in Rust.
set -eu
cd "$(dirname "$0")/peers"
PEERS=${PEERS:-$HOME/.cache/peers}
KUBE=v1.36.3

# Executable, folder of its go.mod, package, and the module whose version it must have.
peers="
kube-apiserver           kube  ./apiserver           k8s.io/kubernetes
kube-controller-manager  kube  ./controller-manager  k8s.io/kubernetes
kubectl                  kube  ./kubectl             k8s.io/client-go
sample-apiserver         sample  k8s.io/sample-apiserver  k8s.io/sample-apiserver
etcd                     etcd  .                     go.etcd.io/etcd/server/v3
etcdctl                  etcd  ./etcdctl             go.etcd.io/etcd/etcdctl/v3
etcdutl                  etcd  go.etcd.io/etcd/etcdutl/v3  go.etcd.io/etcd/etcdutl/v3
helm                     helm  helm.sh/helm/v3/cmd/helm  helm.sh/helm/v3
storage-version-migrator  migrator  .  sigs.k8s.io/kube-storage-version-migrator
"

if ! command -v go >/dev/null; then
	echo "The cluster tests need Go 1.26 or newer to build kube-apiserver, and there is no \"go\" on the PATH." >&2
	exit 1
fi

# Versions that the programs tell about themselves.
stamps="-s -w
	-X k8s.io/component-base/version.gitVersion=$KUBE
	-X k8s.io/component-base/version.gitMajor=1
	-X k8s.io/component-base/version.gitMinor=36
	-X k8s.io/client-go/pkg/version.gitVersion=$KUBE"

# Whether an executable was built from what go.mod asks for. A replaced module's version is on a line "=>".
is_current() { # executable folder module
	local version
	version=$(cd "$2" && go list -m -f '{{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}' "$3")
	go version -m "$1" 2>/dev/null | grep -Eq "(mod|dep|=>)\s+$3\s+${version//+/[+]}\b"
}

mkdir -p "$PEERS"
while read -r name folder package module; do
	[ -n "$name" ] || continue
	if ! is_current "$PEERS/$name" "$folder" "$module"; then
		echo "building $name"
		(cd "$folder" && go build -ldflags "${stamps//$'\n'/ }" -o "$PEERS/$name" "$package")
	fi
done <<<"$peers"

# Of HTTP/2. A peer of one test: where its modules cannot be had, that test is skipped.
if ! is_current "$PEERS/h2spec" h2spec github.com/summerwind/h2spec; then
	echo "building h2spec"
	if ! (cd h2spec && go build -ldflags "-s -w" -o "$PEERS/h2spec" .); then
		rm -f "$PEERS/h2spec"
		echo "h2spec cannot be built: its cases are left out." >&2
	fi
fi

# Of the alerts in deploy/monitoring.
../fetch-promtool.sh

# CustomResourceDefinitions: cert-manager's (what deploy/ says to it is checked against them), and those that the migrator works with.
folder_of() { # folder module
	(cd "$1" && go mod download -json "$2" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
}
mkdir -p "$PEERS/cert-manager" "$PEERS/migrator"
cp --no-preserve=mode "$(folder_of cert-manager github.com/cert-manager/cert-manager)"/deploy/crds/cert-manager.io_*.yaml "$PEERS/cert-manager/"
cp --no-preserve=mode "$(folder_of migrator sigs.k8s.io/kube-storage-version-migrator)"/manifests/*_crd.yaml "$PEERS/migrator/"

# The Prometheus operator's, of two tests. Where its module cannot be had, they are skipped.
operator=$(folder_of prometheus-operator github.com/prometheus-operator/prometheus-operator)
rm -rf "$PEERS/prometheus-operator"
if [ -d "$operator" ]; then
	mkdir "$PEERS/prometheus-operator"
	cp --no-preserve=mode "$operator"/example/prometheus-operator-crd/monitoring.coreos.com_{podmonitors,prometheusrules,servicemonitors}.yaml "$PEERS/prometheus-operator/"
else
	echo "the Prometheus operator's module cannot be had: its definitions judge nothing." >&2
fi

# Those of well-known projects. Where one's module cannot be had, its definitions are not judged.
projects="
prometheus-operator  github.com/prometheus-operator/prometheus-operator@v0.89.0  example/prometheus-operator-crd-full
cert-manager         github.com/cert-manager/cert-manager@v1.21.2                deploy/crds
cluster-api          sigs.k8s.io/cluster-api@v1.12.0                             config/crd/bases
kueue                sigs.k8s.io/kueue@v0.17.0                                   config/components/crd/bases
karpenter            sigs.k8s.io/karpenter@v1.8.0                                pkg/apis/crds
crossplane           github.com/crossplane/crossplane/v2@v2.1.0                  cluster/crds
argo-rollouts        github.com/argoproj/argo-rollouts@v1.8.3                    manifests/crds
knative-serving      knative.dev/serving@v0.47.0                                 config/core/300-resources
source-controller    github.com/fluxcd/source-controller@v1.9.0                  config/crd/bases
lws                  sigs.k8s.io/lws@v0.9.0                                      config/crd/bases
jobset               sigs.k8s.io/jobset@v0.12.0                                  config/components/crd/bases
gateway-api          sigs.k8s.io/gateway-api@v1.4.0                              config/crd/experimental
"
if ! printf %s "$projects" | cmp -s - "$PEERS/projects/list"; then
	rm -rf "$PEERS/projects"
	mkdir "$PEERS/projects"
	have_all=true
	while read -r name module folder; do
		[ -n "$name" ] || continue
		found=$(cd / && go mod download -json "$module" 2>/dev/null | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
		if [ -d "$found/$folder" ]; then
			mkdir "$PEERS/projects/$name"
			cp --no-preserve=mode "$found/$folder"/*.yaml "$PEERS/projects/$name/"
		else
			echo "$module cannot be had: its definitions judge nothing." >&2
			have_all=false
		fi
	done <<<"$projects"
	if $have_all; then
		printf %s "$projects" >"$PEERS/projects/list"
	fi
fi

# Kubernetes' own tests of StatefulSets.
upstream/build.sh "$PEERS"

# Tests that are programs: their sources are the project's own, Go sees what has changed.
cd ../clients
for suite in clientgo controllers types; do
	go test -c -o "$PEERS/$suite.test" "./$suite"
done
(cd history && go test -c -o "$PEERS/history.test" .)

# The module that starts annals for tests of others, and examples that use it.
(cd ../../../clients/go && go test -c -o "$PEERS/annalstest.test" ./annalstest)
(cd ../../../examples/go-test && go test -c -o "$PEERS/example-go.test" .)
for example in history operator; do
	(cd "../../../examples/go-$example" && go test -c -o "$PEERS/example-go-$example.test" .)
done

# Packages from PyPI, in the versions that requirements.txt names. Where PyPI cannot be reached, their tests are skipped.
cd python
if ! cmp -s requirements.txt "$PEERS/python/requirements.txt"; then
	echo "installing packages from PyPI"
	rm -rf "$PEERS/python"
	if python3 -m venv "$PEERS/python" && "$PEERS/python/bin/pip" install -q --disable-pip-version-check -r requirements.txt; then
		cp requirements.txt "$PEERS/python/"
	else
		rm -rf "$PEERS/python"
		echo "PyPI cannot be reached, or a package is not there: the tests with the Python client are left out." >&2
	fi
fi

# The package that does so for tests in Python, installed as its users install it. Setuptools leaves files in the sources: a copy's.
package=../../../../clients/python
if [ -d "$PEERS/python" ] && ! diff -rq -x __pycache__ -x .pytest_cache "$package" "$PEERS/annals-python/sources" >/dev/null 2>&1; then
	copy=$(mktemp -d)
	cp -r "$package" "$copy/sources"
	cp -r "$copy/sources" "$copy/built"
	rm -rf "$PEERS/annals-python"
	if "$PEERS/python/bin/pip" install -q --disable-pip-version-check --no-deps --no-compile --target "$PEERS/annals-python" "$copy/built"; then
		mv "$copy/sources" "$PEERS/annals-python/"
	else
		rm -rf "$PEERS/annals-python"
		echo "clients/python cannot be installed: its tests are left out." >&2
	fi
	rm -rf "$copy"
fi

# Tests in Rust, with kube-rs. Cargo sees what has changed. Where they cannot be built they are skipped.
cd ../rust
leave_out() { # reason
	rm -f "$PEERS/kube-rs/debug/annals-kube-rs" # it may be of other sources
	echo "$1: the tests with kube-rs are left out." >&2
}
rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
is_new_enough() {
	printf '%s\n' "$rust" "$(rustc -V | cut -d' ' -f2)" | sort -CV
}
if ! command -v cargo >/dev/null; then
	leave_out "There is no \"cargo\" on the PATH"
elif ! is_new_enough; then
	leave_out "Rust is older than $rust"
elif ! cargo fetch -q --locked --target "$(rustc -vV | sed -n 's/^host: //p')"; then
	leave_out "crates.io cannot be reached, or a package is not there"
else
	cargo build -q --locked --offline --target-dir "$PEERS/kube-rs"
fi
