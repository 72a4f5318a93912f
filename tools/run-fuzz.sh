#!/bin/bash
# Runs each fuzz target of a build folder for FUZZ_SECONDS. What it finds goes to the build folder; a crash belongs into
# tests/fuzz/corpus/NAME, where every make check replays it.
set -u
cd "$(dirname "$0")/.."
build=${1:-build-fuzz}
passed=0 failed=0

for target in "$build"/tests/fuzz/fuzz_*; do
	[ -x "$target" ] && [ -f "$target" ] || continue
	name=${target##*/fuzz_}
	found=$build/found/$name
	mkdir -p "$found"
	echo "== $name"
	if "$target" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$found/" "$found" "tests/fuzz/corpus/$name" 2>&1 | tail -n 25; [ "${PIPESTATUS[0]}" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$name failed: see $found"
	fi
done

echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
