#!/bin/bash
# Builds and tests annals as a stranger would, on fresh systems: what README says under "Start it" is typed there, then make check.
# Arguments: which (default: all). What is committed is what is tested.
#
#   ROOTS          where fresh systems and logs are kept (~/.cache/annals/roots): NAME is never changed once it is made
#   SKIP_CLANG     set: the second build, with clang, is left out
#   KEEP           set: the used copy of a system is left behind as NAME.used
#   SUITE_SECONDS  how long one suite may take (3600): other things may run on this machine
set -u
cd "$(dirname "$0")/.."
ROOTS=${ROOTS:-$HOME/.cache/annals/roots}

declare -A mirrors=(
	[bookworm]=http://deb.debian.org/debian
	[trixie]=http://deb.debian.org/debian
	[noble]=http://archive.ubuntu.com/ubuntu
)
ALL="bookworm trixie noble"

# Debian has no package with Ubuntu's keys. This one is known by its digest, whoever hands it over.
KEYRING=ubuntu-archive-keyring.gpg
KEYRING_DEB=http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb
KEYRING_SHA256=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8

refuse() {
	echo "check-distros: $*" >&2
	exit 1
}

# ---- fresh systems ----

ubuntu_keyring() {
	local file=/usr/share/keyrings/$KEYRING
	if [ ! -e "$file" ]; then
		file=$ROOTS/$KEYRING
	fi
	if [ ! -e "$file" ]; then
		curl -fsSL -o "$ROOTS/keyring.deb" "$KEYRING_DEB" || refuse "cannot get $KEYRING_DEB"
		echo "$KEYRING_SHA256  $ROOTS/keyring.deb" | sha256sum --check --quiet >&2 || refuse "$KEYRING_DEB is not the one that is known"
		dpkg-deb --fsys-tarfile "$ROOTS/keyring.deb" | tar -xO "./usr/share/keyrings/$KEYRING" >"$file.new"
		mv "$file.new" "$file"
	fi
	echo "$file"
}

# debootstrap knows what came out before it did; all of Ubuntu's are made like the first.
script_of() {
	local script=/usr/share/debootstrap/scripts/$1
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy
	echo "$script"
}

make_root() {
	local name=$1 options=(--variant=minbase) components=main
	if [ "$name" = noble ]; then
		components=main,universe
		options+=(--keyring="$(ubuntu_keyring)") || exit 1
	fi
	rm -rf "$ROOTS/$name.new"
	echo "== $name: debootstrap"
	debootstrap "${options[@]}" --components="$components" "$name" "$ROOTS/$name.new" "${mirrors[$name]}" "$(script_of "$name")" \
		>"$ROOTS/$name.debootstrap.log" 2>&1 || refuse "debootstrap failed: see $ROOTS/$name.debootstrap.log"
	mv "$ROOTS/$name.new" "$ROOTS/$name"
}

# ---- what is done in one ----

# The commands of README's section "Start it"; ADDRESS is where the stranger has it from.
readme_blocks() {
	awk '/^## /{wanted = $0 == "## Start it"} wanted && /^```/{inside = /^```sh/; next} wanted && inside' README.md |
		sed '/^build\/annals up/d'
}

# `make run` does not return: it is ended as soon as it is ready, by the process id that the directory's lock has.
stranger() {
	cat <<-END
		set -e
		export DEBIAN_FRONTEND=noninteractive SUITE_SECONDS=${SUITE_SECONDS:-3600}
		cd ~
		run() {
			make run >run.log 2>&1 &
			for i in \$(seq 1800); do
				grep -q '^annals is ready' run.log && break
				kill -0 \$! || { cat run.log; exit 1; }
				sleep 1
			done
			grep '^annals is ready' run.log
			kill -INT "\$(cat ~/.local/share/annals/lock)"
			wait \$!
		}
		echo "-- as README says"
		time { $(readme_blocks | sed 's,ADDRESS,/source,; s,^make run$,run,'); }
		! grep -q 'warning:' run.log || { grep 'warning:' run.log; exit 1; }
		echo "-- versions"
		gcc --version | head -n 1
		dpkg-query -W libmicrohttpd-dev libnghttp2-dev libgnutls28-dev libgrpc-dev etcd-server
		command -v kubectl || echo "no kubectl"
		if [ -z "${SKIP_CLANG:-}" ]; then
			echo "-- clang"
			tools/install-deps.sh fuzz >packages.log 2>&1 || { tail -n 40 packages.log; exit 1; }
			CC=clang meson setup build-clang >clang.log
			time ninja -C build-clang >>clang.log || { tail -n 40 clang.log; exit 1; }
			! grep 'warning:' clang.log || exit 1
			clang --version | head -n 1
			rm -rf build-clang
		fi
		echo "-- make check"
		time make check
	END
}

# Everything in namespaces of its own: what is mounted and what runs goes away with its first process.
enter() {
	local root=$1
	shift
	unshare --mount --pid --fork --kill-child --propagation=private -- bash -c '
		mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" || exit 1
		root=$1
		shift
		exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"' \
		enter "$root" "$@"
}

check() {
	local name=$1 root=$ROOTS/$1.used start=$SECONDS status=0
	[ -d "$ROOTS/$name" ] || make_root "$name"
	rm -rf "$root"
	cp -a "$ROOTS/$name" "$root"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	git clone -q --no-local . "$root/source" || refuse "cannot clone $PWD"
	echo "== $name: its log is $ROOTS/$name.log"
	stranger >"$root/root/stranger.sh"
	enter "$root" bash /root/stranger.sh >"$ROOTS/$name.log" 2>&1 </dev/null || status=1
	[ -n "${KEEP:-}" ] || rm -rf "$root"
	printf '== %s: %s; %s, %d min\n' "$name" "$([ "$status" = 0 ] && echo passed || echo FAILED)" \
		"$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$ROOTS/$name.log" | tail -n 1)" $(((SECONDS - start) / 60))
	[ "$status" = 0 ] || tail -n 30 "$ROOTS/$name.log"
	return $status
}

main() {
	local name failed=0
	for name in "$@"; do
		[ -n "${mirrors[$name]:-}" ] || refuse "there is no $name: $ALL"
	done
	[ "$(id -u)" = 0 ] || refuse "it makes root directories and enters them: run it as root"
	command -v debootstrap >/dev/null || refuse "debootstrap is missing: apt-get install debootstrap"
	command -v curl >/dev/null || refuse "curl is missing: apt-get install curl"
	mkdir -p "$ROOTS"
	for name in "$@"; do
		check "$name" || failed=1
	done
	exit $failed
}

[ $# -gt 0 ] || set -- $ALL
main "$@"
