#!/bin/bash
# Libraries as archives that the distribution has only as shared libraries, or whose archive asks for libraries that have none.
# Prints the folder for PKG_CONFIG_PATH.
#
# They are built from the distribution's own source packages, in the version that apt offers now: with its patches, and with its
# security updates at the next `make dist`. What annals does not use is left out: PKCS#11, which GnuTLS has from p11-kit, and of
# curl all but HTTP.
#
#   CACHE   where they are kept (~/.cache/annals/static)
set -eu
CACHE=${CACHE:-$HOME/.cache/annals/static}
JOBS=${JOBS:-$(nproc)}
KEYRINGS=/usr/share/keyrings

refuse() {
	echo "static-libs: $*" >&2
	exit 1
}

# ---- apt with source packages, without a change to this machine's own lists ----

apt=$CACHE/apt
say_sources() {
	local id codename
	. /etc/os-release
	id=$ID codename=$VERSION_CODENAME
	case $id in
	debian)
		echo "deb-src [signed-by=$KEYRINGS/debian-archive-keyring.gpg] http://deb.debian.org/debian $codename main"
		echo "deb-src [signed-by=$KEYRINGS/debian-archive-keyring.gpg] http://deb.debian.org/debian $codename-updates main"
		echo "deb-src [signed-by=$KEYRINGS/debian-archive-keyring.gpg] http://deb.debian.org/debian-security $codename-security main"
		;;
	ubuntu)
		echo "deb-src [signed-by=$KEYRINGS/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu $codename main universe"
		echo "deb-src [signed-by=$KEYRINGS/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu $codename-updates main universe"
		echo "deb-src [signed-by=$KEYRINGS/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu $codename-security main universe"
		;;
	*)
		refuse "source packages of $id are not known: only Debian's and Ubuntu's"
		;;
	esac
}

apt_of_sources() {
	apt-get -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/nonexistent -o Dir::State::Lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root "$@"
}

update_sources() {
	mkdir -p "$apt/lists/partial" "$apt/cache"
	say_sources >"$apt/sources.list"
	apt_of_sources update >"$apt/update.log" 2>&1 || refuse "apt-get update: $(tail -n 3 "$apt/update.log")"
}

version_of() {
	apt_of_sources --print-uris source --dsc-only "$1" 2>/dev/null | sed -n 's/^'"'"'[^ ]* \([^ ]*\)\.dsc .*/\1/p' | sed 's/^[^_]*_//'
}

# ---- how each is built; in its source folder, into $1 ----

# Debian's patches change Makefile.am as well.
configure_and_install() {
	local to=$1
	shift
	GTKDOCIZE=true autoreconf --force --install
	./configure --prefix=/usr --sysconfdir=/etc --disable-shared --enable-static --with-pic --disable-dependency-tracking "$@"
	make -j"$JOBS"
	make install DESTDIR="$to"
}

build_libisal() {
	make -j"$JOBS" -f Makefile.unx lib isa-l.h
	install -D -m 0644 bin/isa-l.a "$1/usr/lib/libisal.a"
	install -D -m 0644 -t "$1/usr/include/isa-l" include/*.h
	install -D -m 0644 -t "$1/usr/include" isa-l.h
	mkdir -p "$1/usr/lib/pkgconfig"
	printf 'prefix=/usr\nName: libisal\nDescription: ISA-L\nVersion: %s\nLibs: -L${prefix}/lib -lisal\nCflags: -I${prefix}/include\n' \
		"$(sed -n 's/^AC_INIT([^,]*, *\[*\([0-9.]*\).*/\1/p;s/^ *\[*\([0-9]*\.[0-9]*\.[0-9]*\)\]*,$/\1/p' configure.ac | head -n 1)" \
		>"$1/usr/lib/pkgconfig/libisal.pc"
}

build_gnutls28() {
	rm -f $(grep -rl gettext-0.20 m4/) # as debian/rules does
	configure_and_install "$1" --without-p11-kit --without-tpm --without-tpm2 --without-brotli --without-zstd --without-zlib \
		--disable-doc --disable-tools --disable-tests --disable-guile --disable-libdane --disable-cxx --disable-nls --disable-heartbeat-support \
		--disable-maintainer-mode --disable-gcc-warnings --disable-full-test-suite \
		--with-default-trust-store-file=/etc/ssl/certs/ca-certificates.crt --with-system-priority-file=/etc/gnutls/config
}

build_curl() {
	configure_and_install "$1" --with-gnutls --with-nghttp2 --with-libidn2 --with-zlib --enable-ipv6 --enable-threaded-resolver \
		--with-ca-bundle=/etc/ssl/certs/ca-certificates.crt \
		--without-brotli --without-zstd --without-gssapi --without-libssh2 --without-librtmp --without-libpsl \
		--disable-ldap --disable-ldaps --disable-ftp --disable-file --disable-dict --disable-gopher --disable-imap --disable-mqtt \
		--disable-pop3 --disable-rtsp --disable-smb --disable-smtp --disable-telnet --disable-tftp --disable-manual
	"$1/usr/bin/curl-config" --protocols | grep -qx HTTPS
	"$1/usr/bin/curl-config" --features | grep -qx HTTP2
	mv "$1"/usr/lib/libcurl-*.a "$1/usr/lib/libcurl.a" # the last of Debian's flavours gave it its name
	# The .pc file names libraries without saying where: the system's GnuTLS would be found.
	sed -i -e 's/^Libs:.*/Libs: -L${libdir} -lcurl/' -e 's/^Libs.private:.*/Requires.private: gnutls libidn2 libnghttp2 nettle zlib/' \
		"$1/usr/lib/pkgconfig/libcurl.pc"
}

# Who changes how a library is built has it built anew.
recipe_of() {
	declare -f "build_$1" configure_and_install | sha256sum
}

build() {
	local source=$1 to=$2 work status=0
	work=$(mktemp -d "$CACHE/work.XXXXXX")
	trap "rm -rf '$work'" EXIT
	set +e # of a subshell with || behind it, the first failure would not be the end
	(
		set -e
		cd "$work"
		apt_of_sources source "$source"
		cd "$(find . -mindepth 1 -maxdepth 1 -type d)"
		# Nothing of where it was built stays in it: two builds are equal.
		export CFLAGS="$(DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --get CFLAGS)"
		export CPPFLAGS="$(dpkg-buildflags --get CPPFLAGS)"
		export SOURCE_DATE_EPOCH="$(dpkg-parsechangelog -STimestamp)"
		export PKG_CONFIG_PATH=$CACHE/pkgconfig PKG_CONFIG="pkg-config --static"
		build_"$source" "$work/root"
		install -D -m 0644 debian/copyright "$work/root/copyright"
		recipe_of "$source" >"$work/root/recipe"
		sha256sum "$work"/*.dsc | sed 's,  .*/,  ,' >"$work/root/dsc"
		find "$work/root" -name '*.la' -delete
		sed -i "s,^prefix=.*,prefix=$to/usr," "$work"/root/usr/lib/pkgconfig/*.pc
	) >"$to.log" 2>&1
	status=$?
	set -e
	[ "$status" = 0 ] || refuse "$source does not build: see $to.log"
	rm -rf "$to"
	mv "$work/root" "$to"
	rm -rf "$work"
	trap - EXIT
}

main() {
	local source version
	mkdir -p "$CACHE"
	exec 9>"$CACHE/lock"
	flock 9
	update_sources
	rm -rf "$CACHE/pkgconfig"
	mkdir "$CACHE/pkgconfig"
	for source in libisal gnutls28 curl; do # curl uses GnuTLS
		version=$(version_of "$source")
		[ -n "$version" ] || refuse "apt knows no source package $source"
		if [ "$(recipe_of "$source")" != "$(cat "$CACHE/$source-$version/recipe" 2>/dev/null)" ]; then
			echo "building $source $version: its log is $CACHE/$source-$version.log" >&2
			build "$source" "$CACHE/$source-$version"
		fi
		ln -sf "$CACHE/$source-$version"/usr/lib/pkgconfig/*.pc "$CACHE/pkgconfig/"
	done
	echo "$CACHE/pkgconfig"
}

main
