#!/bin/bash
# Creates 100,000 objects of 1 KiB in annals through its API, opens 1,000 watches over TLS, lets all of them see events, restarts the
# server; counts everything and tells the memory it takes. Fails if anything is missing or refused. Other sizes:
#   tests/bench/scale.sh -objects 10000 -watchers 5000 -events 10
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/programs.sh

if ! has_go; then
	echo "The load generator needs Go 1.22 or newer, and there is none on the PATH." >&2
	exit 1
fi
tools/install-deps.sh run
load -scale "$@"
