#!/bin/bash
# Shows what clang-format would change in the lines that differ from a commit (FORMAT_BASE, default HEAD: what is not committed
# yet). Nothing to compare with, or no clang-format: nothing to say.
set -u
cd "$(dirname "$0")/.."
base=${FORMAT_BASE:-HEAD}

if ! command -v git-clang-format >/dev/null || ! git rev-parse --quiet --verify "$base^{commit}" >/dev/null 2>&1; then
	echo "nothing to compare"
	exit 0
fi

difference=$(git clang-format --diff --quiet --extensions c,h "$base" 2>&1)
case $difference in
"" | "no modified files to format" | "clang-format did not modify any files") exit 0 ;;
esac
printf '%s\n\nmake format would do this.\n' "$difference"
exit 1
