#!/bin/sh
# How far a reader walks: the files and functions that one request runs through. Needs valgrind.
#
#     tools/walk.sh                  # a table of GET, LIST, CREATE and others
#     tools/walk.sh --files GET      # the files of one, in the order of their work
#
# A release build in build-walk/ serves objects from memory, over one HTTP/1.1 connection.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || tools/install-deps.sh walk
[ -f build-walk/build.ninja ] || meson setup build-walk --buildtype=release -Db_ndebug=false -Ddebug=true >&2
ninja -C build-walk annals >&2
exec python3 tools/walk.py --annals build-walk/annals "$@"
