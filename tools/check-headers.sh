#!/bin/bash
# Compiles each header alone: whoever includes one needs to know nothing else. Argument: a build folder, for generated headers.
set -u
cd "$(dirname "$0")/.."
export BUILD=${1:-build} CC=${CC:-cc}

check_header() {
	"$CC" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -isystem "$BUILD" -fsyntax-only -include "$1" -x c /dev/null
}
export -f check_header

find base api storage migration admission server client delegation controllers cli tests -name '*.h' -print0 |
	xargs -0 -P "$(nproc)" -I{} bash -c 'check_header {}'
