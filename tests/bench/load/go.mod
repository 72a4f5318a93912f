module annals.dev/tests/bench/load

go 1.22
