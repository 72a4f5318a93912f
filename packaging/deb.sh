#!/bin/bash
# annals_VERSION_ARCHITECTURE.deb, for the distribution that this runs on, in $OUT (dist). Says its path.
#
#   DEBFULLNAME DEBEMAIL   who answers for the package
. "$(dirname "$0")/common.sh"
MAINTAINER="${DEBFULLNAME:-annals maintainers} <${DEBEMAIL:-maintainers@annals.invalid}>"

# Each distribution's package has a version of its own, so that an upgrade of the distribution brings the next one.
distribution_suffix() {
	. /etc/os-release
	case $ID in
	debian) echo "~deb${VERSION_ID}" ;;
	*) echo "~$ID$VERSION_ID" ;;
	esac
}

write_changelog() {
	cat <<-END
		annals ($1) unstable; urgency=medium

		  * Built from commit $COMMIT.

		 -- $MAINTAINER  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
	END
}

main() {
	local work version deb
	version=$VERSION-1$(distribution_suffix)
	work=$(mktemp -d)
	trap "rm -rf '$work'" EXIT
	lay_sources "$work/annals-$VERSION"
	(
		cd "$work/annals-$VERSION"
		cp -a packaging/debian debian
		sed -i "s/^Maintainer: .*/Maintainer: $MAINTAINER/" debian/control
		write_changelog "$version" >debian/changelog
		dpkg-buildpackage --build=binary --unsigned-changes --no-pre-clean
	) >"$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; refuse "dpkg-buildpackage failed"; }
	mkdir -p "$OUT"
	for deb in "$work"/*.deb; do
		if [[ $deb != *-dbgsym_* ]] && command -v lintian >/dev/null; then
			lintian --fail-on error,warning --allow-root "$deb" >&2 || refuse "lintian is not content"
		fi
		cp "$deb" "$OUT/"
		echo "$OUT/${deb##*/}"
	done
}

main
