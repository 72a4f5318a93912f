#!/bin/bash
# Builds a kube-apiserver of another version of Kubernetes (build-kube.sh v1.31.4) from its Go modules, in $PEERS/kube-VERSION (default
# ~/.cache/peers), and prints that folder. What is there stays. The versions of all other modules are those that Kubernetes itself asks for.
set -eu
version=$1
sources=$(cd "$(dirname "$0")/peers/kube" && pwd)
to=${PEERS:-$HOME/.cache/peers}/kube-$version
minor=${version#v1.}
minor=${minor%%.*}

write_module() { # go.mod and go.sum in this folder, from those of Kubernetes
	local folder
	printf 'module annals.dev/kube\n\ngo 1.26.0\n' >go.mod
	folder=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
	[ -d "$folder" ] || { echo "k8s.io/kubernetes $version cannot be had" >&2; exit 1; }
	# Its go.mod takes k8s.io/api and others from ./staging, which is not in the module: they have modules of their own.
	{
		sed -n '/^require (/,/^)/p' "$folder/go.mod" | sed -E "s, v0.0.0($| //), v0.$minor.${version##*.}\1,"
		printf 'require k8s.io/kubernetes %s\n' "$version"
		sed -n "s#^\s*\(k8s.io/[a-z-]*\) => ./staging/.*#replace \1 => \1 v0.$minor.${version##*.}#p" "$folder/go.mod"
	} >>go.mod
	cp --no-preserve=mode "$folder/go.sum" .
}

if ! [ -x "$to/kube-apiserver" ]; then
	build=$(mktemp -d)
	trap 'rm -rf "$build"' EXIT
	cp -r "$sources/apiserver" "$build/"
	cd "$build"
	write_module >&2
	stamps="-s -w"
	for module in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		stamps+=" -X $module.gitVersion=$version -X $module.gitMajor=1 -X $module.gitMinor=$minor"
	done
	go build -mod=mod -ldflags "$stamps" -o kube-apiserver ./apiserver >&2
	mkdir -p "$to"
	mv kube-apiserver "$to/"
fi
echo "$to"
