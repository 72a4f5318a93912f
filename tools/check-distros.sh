#!/bin/bash
# Builds and tests annals as a stranger would, on fresh systems: what README says under "Install" is typed there, then make check.
# Arguments: which (default: all). What is committed is what is tested.
#
#   ROOTS          where fresh systems and logs are kept (~/.cache/annals/roots): NAME is never changed once it is made
#   SKIP_CLANG     set: the second build, with clang, is left out
#   KEEP           set: the used copy of a system is left behind as NAME.used
#   SUITE_SECONDS  how long one suite may take (3600): other things may run on this machine
set -u
cd "$(dirname "$0")/.."

. tools/roots.sh

# ---- what is done in one ----

# The commands of README's section "Install"; ADDRESS is where the stranger has it from.
readme_blocks() {
	awk '/^## /{wanted = $0 == "## Install"} wanted && /^```/{inside = /^```sh/; next} wanted && inside' README.md
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

check() {
	local name=$1 root=$ROOTS/$1.used start=$SECONDS status=0
	copy_root "$name" "$root"
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
	require_roots "$@"
	for name in "$@"; do
		check "$name" || failed=1
	done
	exit $failed
}

[ $# -gt 0 ] || set -- $ALL
main "$@"
