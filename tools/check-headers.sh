#!/bin/bash
# Compiles each header alone: whoever includes one needs to know nothing else. Argument: a build folder, for generated headers.
#
# ninja does it, by a file of its own in BUILD/headers: a header is compiled again when it, a header that it includes, or the compiler
# has changed, and until it compiles.
set -eu
cd "$(dirname "$0")/.."
BUILD=$(readlink -m "${1:-build}")
CC=${CC:-cc}

# ninja's own characters, in a path.
escape() {
	sed 's/[$ :]/$&/g'
}

# The compiler's version is in the command, since ninja looks at commands and files.
print_rules() {
	local build
	build=$(escape <<<"$BUILD")
	cat <<-END
		builddir = $build/headers
		rule compile
		  command = : '$("$CC" --version | head -n 1)'; $CC -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -isystem '$build' $
		    -fsyntax-only -MD -MF \$out.d -include \$in -x c /dev/null && touch \$out
		  description = \$in
		  depfile = \$out.d
		  deps = gcc
	END
	find base api storage migration admission server client delegation controllers cli tests -name '*.h' | LC_ALL=C sort | escape |
		sed 's|.*|build $builddir/&.ok: compile &|'
}

mkdir -p "$BUILD/headers"
print_rules >"$BUILD/headers/build.ninja.new"
mv "$BUILD/headers/build.ninja.new" "$BUILD/headers/build.ninja"
ninja -k 0 -f "$BUILD/headers/build.ninja"
