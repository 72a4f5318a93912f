#!/bin/bash
# Installs the Debian or Ubuntu packages that are missing, and says nothing when none is. Arguments: what for (default: build run).
# a|b: a package is called a here and b there. a?: it is done without where nobody has it.
set -eu

declare -A packages=(
	[build]="gcc g++ libc6-dev make meson ninja-build pkg-config protobuf-c-compiler libprotobuf-c-dev libgrpc-dev libre2-dev
		libmicrohttpd-dev libnghttp2-dev libgnutls28-dev nettle-dev libjansson-dev libyaml-dev libisal-dev zlib1g-dev libzstd-dev libcmocka-dev
		libcurl4-gnutls-dev"
	[run]="etcd-server curl openssl libcurl3-gnutls|libcurl3t64-gnutls"
	[test]="etcd-client python3 python3-hpack python3-pytest python3-pytest-xdist python3-yaml curl openssl git clang-format chromium?"
	[cluster]="python3-venv"
	[fuzz]="clang"
	[walk]="valgrind"
	[mutate]="binutils python3-clang"
	[picture]="python3-rich"
	[bench]="nghttp2-client wrk"
	[deb]="build-essential debhelper git lintian"
	[dist]="bison build-essential debhelper git gperf libgmp-dev libidn2-dev libtasn1-6-dev libunistring-dev nasm python3"
	[image]="buildah"
)
purposes=("$@")
[ $# -gt 0 ] || purposes=(build run)

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Whether apt's lists have it.
can_be_had() {
	apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# Of a|b|c: the first that can be had, where none is installed. Where apt has no lists yet, it is asked again later.
print_missing() {
	local names name
	IFS='|' read -ra names <<<"${1%\?}"
	for name in "${names[@]}"; do
		is_installed "$name" && return
	done
	for name in "${names[@]}"; do
		can_be_had "$name" && echo "$name" && return
	done
	if [[ "$1" != *\? ]] || ! can_be_had libc6; then
		echo "${names[0]}"
	fi
}

# kubernetes-client would fight over /usr/bin/kubectl with one that came another way.
lacks_kubectl() {
	[[ " ${purposes[*]} " =~ " run "|" test " ]] && ! command -v kubectl >/dev/null
}

# Ubuntu has no kubernetes-client. Where apt has no lists yet, it is asked again later.
find_missing() {
	local purpose package
	for purpose in "${purposes[@]}"; do
		for package in ${packages[$purpose]}; do
			print_missing "$package"
		done
	done
	if lacks_kubectl && { can_be_had kubernetes-client || ! can_be_had libc6; }; then
		echo kubernetes-client
	fi
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

refuse_without_root() {
	printf 'Packages are missing:\n  %s\nRun this as root, then try again:\n  %s %s\n' \
		"$1" "$(readlink -f "$0")" "${purposes[*]}" >&2
	exit 1
}

main() {
	local missing
	if ! command -v dpkg-query >/dev/null; then
		echo "Not a Debian system: see docs/development/dependencies.md for what annals needs." >&2
		return
	fi
	missing=$(find_missing | sort -u | xargs)
	if [ -n "$missing" ]; then
		[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || refuse_without_root "$missing"
		as_root apt-get update -q >&2
		missing=$(find_missing | sort -u | xargs)
		echo "installing $missing" >&2
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
	fi
	if lacks_kubectl; then
		echo "No package here has kubectl: going on without it. See https://kubernetes.io/docs/tasks/tools" >&2
	fi
}

main
