#!/bin/bash
# Installs the Debian packages that are missing, and says nothing when none is. Arguments: what for (default: build run).
# a|b: distributions differ in the name; either is fine.
set -eu

declare -A packages=(
	[build]="gcc g++ libc6-dev make meson ninja-build pkg-config|pkgconf protobuf-c-compiler libprotobuf-c-dev
		libgrpc-dev libmicrohttpd-dev libgnutls28-dev libjansson-dev libyaml-dev zlib1g-dev libcmocka-dev
		libcurl4-gnutls-dev"
	[run]="etcd-server curl openssl libcurl3-gnutls|libcurl3t64-gnutls"
	[test]="etcd-client python3 python3-pytest python3-yaml curl openssl git clang-format util-linux procps"
	[cluster]="python3-venv"
	[fuzz]="clang"
	[bench]="wrk"
)

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

has_candidate() {
	apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

wanted() {
	local purpose
	for purpose in "$@"; do
		printf '%s\n' ${packages[$purpose]}
	done
}

# Of a|b|c: nothing where one is installed, else the first that can be had; a where nothing is known of any.
missing_of() {
	local name names
	IFS='|' read -ra names <<<"$1"
	for name in "${names[@]}"; do
		is_installed "$name" && return 0
	done
	for name in "${names[@]}"; do
		has_candidate "$name" && echo "$name" && return 0
	done
	echo "${names[0]}"
}

missing() {
	local package
	for package in $(wanted "$@" | sort -u); do
		missing_of "$package"
	done
}

# kubernetes-client would fight over /usr/bin/kubectl with one that came another way; and Ubuntu has no such package.
lacks_kubectl() {
	[[ " $* " =~ " run "|" test " ]] && ! command -v kubectl >/dev/null
}

knows_packages() {
	has_candidate libc6
}

# As root, or what to say to somebody who is.
become_root() {
	[ "$(id -u)" -eq 0 ] && return 0
	if command -v sudo >/dev/null; then
		exec sudo "$0" "$@"
	fi
	printf 'These packages are missing:\n  %s\nRun this as root, then try again:\n  %s %s\n' \
		"$(missing "$@" | xargs)$(lacks_kubectl "$@" && knows_packages && has_candidate kubernetes-client && echo ' kubernetes-client')" \
		"$(readlink -f "$0")" "$*" >&2
	exit 1
}

install() {
	echo "installing $*" >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

main() {
	local lacking
	if ! command -v dpkg-query >/dev/null; then
		echo "Not a Debian system: see docs/dependencies.md for what annals needs." >&2
		return 0
	fi
	if [ -n "$(missing "$@")" ] || { lacks_kubectl "$@" && { ! knows_packages || has_candidate kubernetes-client; }; }; then
		become_root "$@"
		apt-get update -q >&2
		lacking=$(missing "$@")
		lacks_kubectl "$@" && has_candidate kubernetes-client && lacking="$lacking kubernetes-client"
		install $lacking
	fi
	if lacks_kubectl "$@"; then
		echo "No package here has kubectl: going on without it. https://kubernetes.io/docs/tasks/tools says how to get it." >&2
	fi
}

[ $# -gt 0 ] || set -- build run
main "$@"
