# The front door. meson and ninja do the work: build/ is an ordinary meson build folder.

BUILD ?= build
FUZZ_SECONDS ?= 60
ARGS ?=
export FUZZ_SECONDS

NATIVE_SUITES = unit contract fuzz
PROCESS_SUITES = tests/integration tests/fault
BROWSER_SUITES = tests/browser
# The tests' own client speaks HTTP/1.1, and here HTTP/2: in check-http2 everywhere, in check where the wire matters most.
HTTP2_SUITES = http2:tests/integration http2:tests/fault http2:tests/parity
HTTP2_CHECKS = http2:tests/integration/test_http.py http2:tests/integration/test_lists.py http2:tests/integration/test_trust_files.py http2:tests/parity
# A sanitizer sees in each of these what it sees in the other, or nearly so: "make sanitize-thread SUITES=tests/integration" for the rest.
SUITES_address = $(NATIVE_SUITES) tests/integration
SUITES_thread = $(NATIVE_SUITES) tests/fault

help:
	@echo 'make run            build, install what is missing, and start "annals up" (ARGS="--port 7443" for its flags)'
	@echo 'make build          build/annals, and build/kubectl-annals, the plugin'
	@echo 'make quick          in a minute: builds, source checks, unit tests, and integration tests of what has changed (K=watch: of that name)'
	@echo 'make check          all tests: source checks, unit, contract, integration, fault and browser tests, exchanges recorded from kube-apiserver'
	@echo 'make check-http2    integration and fault tests, and what was recorded from kube-apiserver, with a client that speaks HTTP/2'
	@echo 'make check-distros  builds and tests on fresh roots of Debian 12 and 13 and Ubuntu 24.04; as root (ARGS="trixie")'
	@echo 'make check-cluster  tests beside a real kube-apiserver, and with clients, built from Go modules'
	@echo 'make oracle         random programs of StatefulSets against kube-controller-manager and against annals (PROGRAMS=2000)'
	@echo 'make sanitize       with ASan+UBSan: all but fault tests, with TSan: all but integration tests (sanitize-address, sanitize-thread; SUITES="unit tests/fault")'
	@echo 'make fuzz           every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make mutate         makes one line of the source wrong after the other, and names those that no test notices (N=20, K=write)'
	@echo 'make bench          measurements, beside and behind kube-apiserver where "make check-cluster" has built it (ARGS="-only ^get")'
	@echo 'make screenshots    docs/images: the page as it looks, light and dark; needs Chromium'
	@echo 'make format         clang-format on changed lines'
	@echo 'make clean          removes the build folders'

build: $(BUILD)/build.ninja
	ninja -C $(BUILD) annals kubectl-annals kubectl_complete-annals

run:
	tools/install-deps.sh build run
	$(MAKE) --no-print-directory build
	exec $(BUILD)/annals up $(ARGS)

quick:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory $(BUILD)/build.ninja
	ninja -C $(BUILD)
	tools/quick.py --build $(BUILD) $(if $(K),-k '$(K)')

check:
	tools/install-deps.sh build run test
	tests/browser/fetch-axe.sh
	$(MAKE) --no-print-directory $(BUILD)/build.ninja
	ninja -C $(BUILD)
	tools/run-tests.py --build $(BUILD) house $(NATIVE_SUITES) $(PROCESS_SUITES) tests/parity $(HTTP2_CHECKS) $(BROWSER_SUITES)

check-http2:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory $(BUILD)/build.ninja
	ninja -C $(BUILD)
	SUITE_SECONDS=$${SUITE_SECONDS:-3600} tools/run-tests.py --build $(BUILD) $(HTTP2_SUITES)

check-distros:
	tools/check-distros.sh $(ARGS)

check-cluster: peers
	$(MAKE) --no-print-directory build
	SUITE_SECONDS=$${SUITE_SECONDS:-3600} tools/run-tests.py --build $(BUILD) tests/cluster

# As long as it takes; a minute of it is in check-cluster.
oracle: peers
	$(MAKE) --no-print-directory build
	ORACLE_PROGRAMS=$(or $(PROGRAMS),2000) SUITE_SECONDS=86400 TEST_SECONDS=43200 tools/run-tests.py --build $(BUILD) tests/cluster -k oracle

sanitize: sanitize-address sanitize-thread

sanitize-%:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory sanitized-$*
	tools/run-tests.py --build build-$* $(or $(SUITES),$(SUITES_$*))

# What they need, without the tests.
sanitized: sanitized-address sanitized-thread

sanitized-%: build-%/build.ninja
	ninja -C build-$*

peers:
	tools/install-deps.sh build run test cluster
	tests/cluster/build.sh

fuzz:
	tools/install-deps.sh build fuzz
	$(MAKE) --no-print-directory build-fuzz/build.ninja
	ninja -C build-fuzz fuzzers
	tools/run-fuzz.sh build-fuzz

mutate:
	tools/install-deps.sh build run test
	tools/mutate.py $(if $(N),-n $(N)) $(if $(K),-k '$(K)') $(ARGS)

bench: build
	BUILD=$(BUILD) tests/bench/run.sh $(ARGS)

screenshots: build
	tools/install-deps.sh build run test
	ANNALS_BIN=$(abspath $(BUILD))/annals /usr/bin/python3 tests/browser/screenshots.py

format:
	git clang-format --extensions c,h

clean:
	rm -rf $(BUILD) build-address build-thread build-fuzz build-mutants

# A folder from an aborted setup has no build.ninja, and meson refuses to set it up again.
$(BUILD)/build.ninja:
	rm -rf $(BUILD)
	meson setup $(BUILD)

build-address/build.ninja:
	rm -rf build-address
	meson setup build-address -Db_sanitize=address,undefined

build-thread/build.ninja:
	rm -rf build-thread
	meson setup build-thread -Db_sanitize=thread

build-fuzz/build.ninja:
	rm -rf build-fuzz
	CC=clang meson setup build-fuzz -Dfuzz=true -Dtests=false -Db_sanitize=address,undefined -Db_lundef=false

.PHONY: help build run quick check check-http2 check-distros check-cluster sanitize sanitized peers oracle fuzz mutate bench screenshots format clean
