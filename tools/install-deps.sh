#!/bin/bash
# Installs the Debian packages that are missing, and says nothing when none is. Arguments: what for (default: build run).
set -eu

declare -A packages=(
	[build]="gcc g++ libc6-dev make meson ninja-build pkg-config protobuf-c-compiler libprotobuf-c-dev libgrpc-dev
		libmicrohttpd-dev libgnutls28-dev libjansson-dev libyaml-dev zlib1g-dev libcmocka-dev
		libcurl4-gnutls-dev"
	[run]="etcd-server curl openssl libcurl3-gnutls"
	[test]="etcd-client python3 python3-pytest python3-yaml curl openssl git clang-format"
	[cluster]="python3-venv"
	[fuzz]="clang libclang-rt-dev"
	[bench]="wrk"
)

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

wanted() {
	local purpose
	for purpose in "$@"; do
		printf '%s\n' ${packages[$purpose]}
	done
	# kubernetes-client would fight over /usr/bin/kubectl with one that came another way.
	if [[ " $* " =~ " run "|" test " ]] && ! command -v kubectl >/dev/null; then
		echo kubernetes-client
	fi
}

main() {
	local missing=() package sudo=
	if ! command -v dpkg-query >/dev/null; then
		echo "Not a Debian system: see docs/dependencies.md for what annals needs." >&2
		return 0
	fi
	for package in $(wanted "$@" | sort -u); do
		is_installed "$package" || missing+=("$package")
	done
	if [ ${#missing[@]} -eq 0 ]; then
		return 0
	fi

	[ "$(id -u)" -eq 0 ] || sudo=sudo
	echo "installing ${missing[*]}" >&2
	$sudo apt-get update -q >&2
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
}

[ $# -gt 0 ] || set -- build run
main "$@"
