#!/bin/bash
# Makes Kubernetes' own tests in $1, from the sources of the Go module k8s.io/kubernetes:
#
#   statefulset.test  test/integration/statefulset, unmodified. Four packages that it imports start a server and a controller within the test's process; those in
#                     standins take their place, which take a server that runs already. Go overlays nothing in its module cache: what is imported is copied.
#   e2e.test          test/e2e, unmodified, with a main of our own.
#   conformance.yaml  the specs of test/e2e that every conformant cluster passes.
#   test-cmd/         test/cmd/apps.sh, unmodified, and the scripts that it needs.
set -eu
cd "$(dirname "$0")"
to=$1
module=k8s.io/kubernetes
version=$(go list -m -f '{{.Version}}' $module)
sources=$(go mod download -json $module | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')

# Of $1 the files that match $2, into the same folder of $3.
copy_files() { # folder pattern to
	mkdir -p "$3/$1"
	find "$sources/$1" -maxdepth 1 -name "$2" -exec cp --no-preserve=mode {} "$3/$1/" \;
}

build_statefulset() {
	local copy=$to/statefulset.build package
	rm -rf "$copy"
	for package in $(go list -deps $module/pkg/api/v1/pod $module/pkg/apis/core $module/test/utils/ktesting | sed -n "s#^$module/##p") test/integration/statefulset; do
		copy_files "$package" '*.go' "$copy/kubernetes"
	done
	cp --no-preserve=mode "$sources/go.mod" "$copy/kubernetes/"
	cp -r standins/* "$copy/kubernetes/"
	cp go.mod go.sum "$copy/"
	go mod edit -replace "$module=$copy/kubernetes" "$copy/go.mod"
	go test -c -ldflags '-s -w' -modfile "$copy/go.mod" -o "$to/statefulset.test" $module/test/integration/statefulset
	rm -rf "$copy"
}

copy_scripts() {
	rm -rf "$to/test-cmd"
	copy_files test/cmd '*.sh' "$to/test-cmd"
	copy_files hack/lib '*.sh' "$to/test-cmd"
	copy_files hack/testdata 'rollingupdate-statefulset*' "$to/test-cmd"
	copy_files third_party/forked/shell2junit '*.sh' "$to/test-cmd"
}

# Of the version in go.mod, and of what is here.
stamp="$version $(cat build.sh go.mod e2e/*.go $(find standins -name '*.go' | sort) | sha256sum)"
if [ "$(cat "$to/upstream.stamp" 2>/dev/null)" != "$stamp" ] || ! [ -x "$to/statefulset.test" ] || ! [ -x "$to/e2e.test" ]; then
	echo "building Kubernetes' own tests"
	copy_scripts
	build_statefulset
	go test -c -ldflags '-s -w' -o "$to/e2e.test" ./e2e
	cp --no-preserve=mode "$sources/test/conformance/testdata/conformance.yaml" "$to/"
	echo "$stamp" >"$to/upstream.stamp"
fi
