#!/bin/sh
# Writes what is made from the source: reference pages, and files for other programs. "make docs" calls it, and
# tests/house/test_docs.py, which compares what it writes with what is committed.
#
#     tools/make-docs.sh BUILD [FOLDER]   FOLDER: into which it writes docs/reference/metrics.md and the like
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
root=${2:-.}

# A generator takes the folder to write into, and writes nothing else. One that runs a program of ours finds it in $ANNALS_BUILD.
export ANNALS_BUILD="$build" PYTHONDONTWRITEBYTECODE=1
for generator in api ceilings commands errors gotypes logs metrics openapi states; do
	python3 tools/reference/$generator.py "$root"
done
