# Fresh systems of the distributions that annals is for. Sourced; who sources it has ROOTS, where they are kept: NAME is never changed
# once it is made.
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
	echo "$(basename "$0"): $*" >&2
	exit 1
}

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

# What it takes to make and to enter those that are named.
require_roots() {
	local name
	for name in "$@"; do
		[ -n "${mirrors[$name]:-}" ] || refuse "there is no $name: $ALL"
	done
	[ "$(id -u)" = 0 ] || refuse "it makes root directories and enters them: run it as root"
	command -v debootstrap >/dev/null || refuse "debootstrap is missing: apt-get install debootstrap"
	command -v curl >/dev/null || refuse "curl is missing: apt-get install curl"
	mkdir -p "$ROOTS"
}

# NAME COPY: a copy that may be used up.
copy_root() {
	[ -d "$ROOTS/$1" ] || make_root "$1"
	rm -rf "$2"
	cp -a "$ROOTS/$1" "$2"
	cp /etc/resolv.conf "$2/etc/resolv.conf"
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
