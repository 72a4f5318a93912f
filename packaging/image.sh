#!/bin/bash
# annals-VERSION-oci-ARCHITECTURE.tar, an OCI image of `make dist`'s executable and its SBOM, in $OUT (dist). Says its path. No registry is
# asked for anything: glibc and the CAs' certificates are this system's. It needs buildah, and no root.
#
#   TARBALL   a tarball that is there already
. "$(dirname "$0")/common.sh"
SOURCE_URL=https://annals.dev

if [ "$(id -u)" != 0 ] && [ -z "${BUILDAH_ISOLATION:-}" ]; then
	exec buildah unshare "$0"
fi

work=$(mktemp -d)
storage=(--root "$work/storage" --runroot "$work/run" --storage-driver vfs)
remove_all() {
	buildah "${storage[@]}" rm --all >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap remove_all EXIT

# What the executable needs of glibc; names are looked up in DNS by libc.so itself.
lay_root() {
	local root=$1 executable=$2/bin/annals
	install -D -m 0755 -t "$root/usr/bin" "$executable"
	ln -s annals "$root/usr/bin/kubectl-annals"
	ldd "$executable" | grep -o '/[^ ]*\.so[^ ):]*' | sort -u | xargs cp -L --parents -t "$root"
	install -D -m 0644 -t "$root/etc/ssl/certs" /etc/ssl/certs/ca-certificates.crt
	echo 'annals:x:65532:65532:annals:/:/sbin/nologin' >"$root/etc/passwd"
	echo 'annals:x:65532:' >"$root/etc/group"
	echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
	mkdir -p "$root/usr/share/doc/annals"
	cp -a "$2/share/doc/annals/LICENSE" "$2/share/doc/annals/third-party" "$root/usr/share/doc/annals/"
	for package in libc6 ca-certificates; do
		install -D -m 0644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/annals/third-party/$package/copyright"
	done
	cp "$3" "$root/usr/share/doc/annals/annals.spdx.json"
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

describe() {
	buildah "${storage[@]}" config --user 65532:65532 --entrypoint '["/usr/bin/annals"]' --cmd help --port 6443 \
		--env PATH=/usr/bin --workingdir / \
		--label org.opencontainers.image.title=annals \
		--label org.opencontainers.image.description="Revision history and in-use protection for Kubernetes objects" \
		--label org.opencontainers.image.version="$VERSION" \
		--label org.opencontainers.image.revision="$COMMIT" \
		--label org.opencontainers.image.created="$COMMIT_DATE" \
		--label org.opencontainers.image.licenses=Apache-2.0 \
		--label org.opencontainers.image.url="$SOURCE_URL" \
		--label org.opencontainers.image.documentation="$SOURCE_URL/docs" \
		"$1"
}

main() {
	local name container root tarball
	tarball=${TARBALL:-$(packaging/dist.sh)}
	name=annals-$VERSION-oci-$(dpkg --print-architecture)
	mkdir -p "$OUT" "$work/dist"
	tar -xzf "$tarball" --strip-components=1 -C "$work/dist"
	packaging/sbom.py --name "$name" --version "$VERSION" --commit "$COMMIT" --created "$COMMIT_DATE" \
		--base "$work/dist/share/doc/annals/annals.spdx.json" --package libc6 --package ca-certificates >"$work/$name.spdx.json"

	container=$(buildah "${storage[@]}" from scratch)
	root=$(buildah "${storage[@]}" mount "$container")
	lay_root "$root" "$work/dist" "$work/$name.spdx.json"
	buildah "${storage[@]}" unmount "$container" >/dev/null
	describe "$container"
	buildah "${storage[@]}" commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" "oci-archive:$work/$name.tar:annals:$VERSION" >/dev/null
	mv "$work/$name.tar" "$work/$name.spdx.json" "$OUT/"
	(cd "$OUT" && sha256sum "$name.tar" "$name.spdx.json" >"$name.sha256")
	echo "$OUT/$name.tar"
}

main
