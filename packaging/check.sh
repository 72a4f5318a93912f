#!/bin/bash
# Packages as a stranger meets them: built on a fresh system of each distribution, installed on another one that has no compiler, run,
# and removed. The tarball, which is built here, is run on fresh systems with nothing installed; the image made of it runs in a container
# of buildah's, and the SBOMs of both are judged by the validator of SPDX. As root; it needs the network.
# Arguments: which distributions (default: all).
#
#   ROOTS      where fresh systems and logs are kept (~/.cache/annals/roots)
#   TARBALL    a tarball that is there already; empty: none is looked at
#   PEERS      where `make peers` has built kubectl (~/.cache/peers): for the distribution that has no package of it
set -u
cd "$(dirname "$0")/.."
. tools/roots.sh
TARBALL=${TARBALL-build}
PEERS=${PEERS:-$HOME/.cache/peers}
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT

# What has been installed to build is kept: only that makes the second time faster.
build_deb() {
	local name=$1 root=$ROOTS/$1.builder
	[ -d "$root" ] || copy_root "$name" "$root"
	rm -rf "$root/source" "$root/packages"
	git clone -q --no-local . "$root/source" || refuse "cannot clone $PWD"
	enter "$root" bash -ec 'cd /source; tools/install-deps.sh build deb; OUT=/packages packaging/deb.sh' || return 1
	mkdir -p "$OUT/$name"
	cp "$root"/packages/annals_*.deb "$OUT/$name/"
}

# What both do on their system: /packages has what is installed. One server, from its start to its end, is seen by doctor, a client.
common_steps() {
	cat <<-'END'
		set -eu
		export DEBIAN_FRONTEND=noninteractive
		cd /root
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d # nothing is started by being installed
		chmod +x /usr/sbin/policy-rc.d
		! command -v gcc || exit 1
		serve() {
			echo "-- $*"
			"$@" --data-dir data --port 0 >out 2>err &
			pid=$!
			for i in $(seq 600); do
				grep -q '^annals is ready' out && break
				kill -0 $pid || { cat out err; exit 1; }
				sleep 0.2
			done
			grep '^annals is ready' out
		}
		finish() {
			kill $pid
			wait $pid
			rm -r data
		}
	END
}

deb_steps() {
	common_steps
	cat <<-'END'
		find / -xdev -name '*annals*' -not -path '/packages*' >before
		apt-get update -q >log
		apt-get install -y -q /packages/annals_*.deb >>log 2>&1 || { cat log; exit 1; }
		annals version
		kubectl-annals help >/dev/null
		getent passwd annals
		grep -q ^ANNALS_ARGS= /etc/annals/annals.env
		! ldd /usr/bin/annals | grep 'not found' || exit 1
		for page in man1/annals.1 man8/annals-serve.8; do test -s /usr/share/man/$page.gz; done
		for name in swagger.json v3/apis__annals.dev__v1_openapi.json; do test -s /usr/share/annals/openapi/$name; done
		! command -v systemd-analyze >/dev/null || systemd-analyze verify --man=no annals.service
		serve annals up
		annals doctor --data-dir data
		kubectl-annals log --kubeconfig data/kubeconfig --all-namespaces
		finish
		if apt-cache policy kubernetes-client | grep -q '^  Candidate: [^(]'; then
			apt-get install -y -q --no-install-recommends kubernetes-client >>log 2>&1 || { cat log; exit 1; }
		elif [ -x /packages/kubectl ]; then
			install -m 0755 -t /usr/local/bin /packages/kubectl
		fi
		if command -v kubectl >/dev/null; then
			apt-get install -y -q --no-install-recommends python3 curl >>log 2>&1 || { cat log; exit 1; }
			echo "-- README and the tutorials, typed"
			(cd /packages/source && ANNALS_BIN=/usr/bin/annals python3 tests/integration/fenced.py README.md docs/tutorials/*.md)
		else
			echo "-- there is no kubectl: README is not typed"
		fi
		echo "-- again, as an upgrade would"
		apt-get install -y -q --reinstall /packages/annals_*.deb >>log 2>&1 || { cat log; exit 1; }
		echo "-- purge"
		dpkg -L annals | while read -r path; do [ -d "$path" ] || echo "$path"; done >installed
		mkdir -p /var/log/annals # as the unit does
		apt-get purge -y -q annals >>log 2>&1 || { cat log; exit 1; }
		while read -r path; do ! ls -d "$path" 2>/dev/null || exit 1; done <installed
		! getent passwd annals || exit 1
		! getent group annals || exit 1
		# dpkg and apt remember what they did.
		find / -xdev -name '*annals*' -not -path '/packages*' -not -path '/proc/*' >after
		diff before after
	END
}

tarball_steps() {
	common_steps
	cat <<-'END'
		dpkg-query -W -f '${Package}\n' | sort >before
		tar -xzf /packages/annals-*.tar.gz --strip-components=1 -C /usr/local
		annals version
		kubectl-annals help >/dev/null
		ldd /usr/local/bin/annals
		serve annals up --store memory
		annals doctor --data-dir data || true
		kubectl-annals log --kubeconfig data/kubeconfig --all-namespaces
		finish
		dpkg-query -W -f '${Package}\n' | sort | diff before -
		echo "-- with the distribution's etcd"
		apt-get update -q >log
		apt-get install -y -q --no-install-recommends etcd-server >>log 2>&1 || { cat log; exit 1; }
		serve annals up
		annals doctor --data-dir data
		finish
	END
}

# STEPS NAME FILE: what STEPS says, on a fresh NAME.
try() {
	local root=$ROOTS/$2.$1
	copy_root "$2" "$root"
	mkdir "$root/packages"
	cp "$3" "$root/packages/"
	[ ! -x "$PEERS/kubectl" ] || cp "$PEERS/kubectl" "$root/packages/"
	git clone -q --no-local . "$root/packages/source" || refuse "cannot clone $PWD"
	"$1"_steps >"$root/root/steps.sh"
	enter "$root" bash /root/steps.sh </dev/null || return 1
	rm -rf "$root"
}

check() {
	local name=$1 start=$SECONDS status=0
	{
		build_deb "$name" && try deb "$name" "$OUT/$name"/annals_*.deb || status=1
		[ -z "$TARBALL" ] || try tarball "$name" "$TARBALL" || status=1
	} >"$ROOTS/$name.packages.log" 2>&1
	printf '== %s: %s; %d s; its log is %s\n' "$name" "$([ "$status" = 0 ] && echo passed || echo FAILED)" $((SECONDS - start)) \
		"$ROOTS/$name.packages.log"
	[ "$status" = 0 ] || tail -n 30 "$ROOTS/$name.packages.log"
	return $status
}

# As its user, with a folder of that user's.
check_image() {
	local storage=(--root "$OUT/storage" --runroot "$OUT/run" --storage-driver vfs) container run child status=0
	install -d -m 0700 -o 65532 -g 65532 "$OUT/data"
	container=$(buildah "${storage[@]}" from --quiet "oci-archive:$1") || return 1
	run=(buildah "${storage[@]}" run --isolation chroot --volume "$OUT/data:/data" "$container" -- /usr/bin/annals)
	"${run[@]}" version || status=1
	"${run[@]}" up --store memory --data-dir /data --port 0 >"$OUT/up" 2>&1 &
	child=$!
	for _ in $(seq 300); do
		grep -q '^annals is ready' "$OUT/up" && break
		kill -0 $child 2>/dev/null || break
		sleep 0.2
	done
	[ "$(stat -c %u "$OUT/data/lock")" = 65532 ] || status=1
	"${run[@]}" doctor --data-dir /data || status=1
	kill "$(cat "$OUT/data/lock")" || status=1
	wait $child || status=1
	buildah "${storage[@]}" rm --all >/dev/null
	return $status
}

check_sboms() {
	local document
	if ! { python3 -m venv "$OUT/spdx" && "$OUT/spdx/bin/pip" -q install 'spdx-tools>=0.8,<0.9'; }; then
		echo "SBOMs are not judged: PyPI has no spdx-tools for us"
		return
	fi
	for document in "$@"; do
		"$OUT/spdx/bin/pyspdxtools" --infile "$document" || return 1
	done
}

check_artifacts() {
	local image status=0
	{
		image=$(TARBALL=$TARBALL OUT=$OUT packaging/image.sh) && check_image "$image" && check_sboms "${TARBALL%.tar.gz}.spdx.json" "${image%.tar}.spdx.json"
	} >"$ROOTS/artifacts.log" 2>&1 || status=1
	printf '== image and SBOMs: %s; the log is %s\n' "$([ "$status" = 0 ] && echo passed || echo FAILED)" "$ROOTS/artifacts.log"
	[ "$status" = 0 ] || tail -n 30 "$ROOTS/artifacts.log"
	return $status
}

main() {
	local name failed=0
	require_roots "$@"
	if [ "$TARBALL" = build ]; then
		tools/install-deps.sh build dist image cluster
		TARBALL=$(OUT=$OUT packaging/dist.sh) || refuse "no tarball"
	fi
	[ -z "$TARBALL" ] || check_artifacts || failed=1
	for name in "$@"; do
		check "$name" || failed=1
	done
	exit $failed
}

[ $# -gt 0 ] || set -- $ALL
main "$@"
