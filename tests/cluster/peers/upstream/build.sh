#!/bin/bash
# Builds Kubernetes' own tests of StatefulSets into $1, from the sources of the Go module k8s.io/kubernetes:
#
#   statefulset.test  test/integration/statefulset, unmodified. Four packages that it imports start a server and a controller within the test's process;
#                     they are replaced by those in standins, which take a server that runs already. Go overlays nothing in its module cache, hence the copy.
#   e2e.test          test/e2e/apps, unmodified, with a main of our own.
set -eu
cd "$(dirname "$0")"
to=$1

kubernetes=$(go mod download -json k8s.io/kubernetes | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
copy=$to/upstream
trap 'rm -rf "$copy"' EXIT
rm -rf "$copy"
mkdir -p "$copy"
cp -r --no-preserve=mode "$kubernetes" "$copy/kubernetes"
for package in $(cd standins && find . -name '*.go' -printf '%h\n' | sort -u); do
	find "$copy/kubernetes/$package" -maxdepth 1 -name '*.go' -delete
	cp standins/"$package"/*.go "$copy/kubernetes/$package/"
done
cp go.mod go.sum "$copy/"
go mod edit -replace "k8s.io/kubernetes=$copy/kubernetes" "$copy/go.mod"
go test -c -trimpath -ldflags '-s -w' -modfile "$copy/go.mod" -o "$to/statefulset.test" k8s.io/kubernetes/test/integration/statefulset
go test -c -ldflags '-s -w' -o "$to/e2e.test" ./e2e
