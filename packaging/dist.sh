#!/bin/bash
# annals-VERSION-linux-ARCHITECTURE.tar.gz, its SBOM and SHA256SUMS, in $OUT (dist). Says the tarball's path.
#
# The executable has all libraries within but the C library's. It runs where glibc is as new as here, or newer: releases are built on
# the oldest distribution that annals is for, Debian 12.
. "$(dirname "$0")/common.sh"
STATIC=$(readlink -m "${CACHE:-$HOME/.cache/annals/static}")

architecture() {
	case $(dpkg --print-architecture) in
	amd64 | arm64) dpkg --print-architecture ;;
	*) uname -m ;;
	esac
}

flags() {
	DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --get "$1"
}

# In the sources' folder, which no path in the executable names. --trace: the linker says which files it took.
build() {
	export PKG_CONFIG_PATH=$1
	export CFLAGS="$(flags CFLAGS) -ffile-prefix-map=$STATIC=." CPPFLAGS="$(flags CPPFLAGS)"
	export LDFLAGS="$(flags LDFLAGS) -static-libgcc -Wl,--trace"
	meson setup build --prefix=/usr/local --buildtype=plain -Db_pie=true -Dprefer_static=true -Dstatic_grpc=enabled -Dtests=false \
		-Dwerror=false -Dcommit="$COMMIT" -Dcommit_date="$COMMIT_DATE"
	ninja -C build >ninja.log || { cat ninja.log; return 1; }
	meson install -C build --no-rebuild --strip --quiet --destdir "$PWD/root"
}

# What is linked beside glibc would make it need more than that.
require_glibc_alone() {
	local others
	others=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux-.*)\.so' || true)
	[ -z "$others" ] || refuse "the executable needs $others"
}

pack() {
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$1" -c "$2" | gzip -9 -n
}

main() {
	local work name pkgconfig sources
	pkgconfig=$(CACHE=$STATIC packaging/static-libs.sh)
	name=annals-$VERSION-linux-$(architecture)
	work=$(mktemp -d)
	trap "rm -rf '$work'" EXIT
	sources=$work/annals-$VERSION
	lay_sources "$sources"
	(cd "$sources" && build "$pkgconfig") >"$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; refuse "it does not build"; }
	mv "$sources/root/usr/local" "$work/$name"
	require_glibc_alone "$work/$name/bin/annals"

	mkdir -p "$OUT"
	packaging/sbom.py --name "$name" --version "$VERSION" --commit "$COMMIT" --created "$COMMIT_DATE" --static "$STATIC" \
		--trace "$sources/ninja.log" --licenses "$work/$name/share/doc/annals/third-party" >"$work/$name.spdx.json"
	cp "$work/$name.spdx.json" "$work/$name/share/doc/annals/annals.spdx.json"
	pack "$work" "$name" >"$work/$name.tar.gz"
	mv "$work/$name.tar.gz" "$work/$name.spdx.json" "$OUT/"
	(cd "$OUT" && sha256sum "$name.tar.gz" "$name.spdx.json" >"$name.sha256")
	echo "$OUT/$name.tar.gz"
}

main
