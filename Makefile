# The front door. meson and ninja do the work: build/ is an ordinary meson build folder.

BUILD ?= build
FUZZ_SECONDS ?= 60
ARGS ?=
export FUZZ_SECONDS

NATIVE_SUITES = unit contract fuzz
PROCESS_SUITES = tests/integration tests/fault
SANITIZED_SUITES = $(NATIVE_SUITES) $(PROCESS_SUITES)

help:
	@echo 'make run            build, install what is missing, and start "annals up" (ARGS="--port 7443" for its flags)'
	@echo 'make build          build/annals, and build/kubectl-annals, the plugin'
	@echo 'make check          source checks, unit, contract, integration and fault tests, exchanges recorded from kube-apiserver'
	@echo 'make check-distros  builds and tests on fresh roots of Debian 12 and 13 and Ubuntu 24.04; as root (ARGS="trixie")'
	@echo 'make check-cluster  tests beside a real kube-apiserver, and with clients, built from Go modules'
	@echo 'make sanitize       the same suites with ASan+UBSan and with TSan (sanitize-address, sanitize-thread)'
	@echo 'make fuzz           every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make bench          measurements, beside and behind kube-apiserver where "make check-cluster" has built it (ARGS="-only ^get")'
	@echo 'make format         clang-format on changed lines'
	@echo 'make clean          removes the build folders'

build: $(BUILD)/build.ninja
	ninja -C $(BUILD) annals kubectl-annals

run:
	tools/install-deps.sh build run
	$(MAKE) --no-print-directory build
	exec $(BUILD)/annals up $(ARGS)

check:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory $(BUILD)/build.ninja
	ninja -C $(BUILD)
	tools/run-tests.py --build $(BUILD) house $(NATIVE_SUITES) $(PROCESS_SUITES) tests/parity

check-distros:
	tools/check-distros.sh $(ARGS)

check-cluster:
	tools/install-deps.sh build run test cluster
	$(MAKE) --no-print-directory build
	tests/cluster/build.sh
	SUITE_SECONDS=$${SUITE_SECONDS:-2400} tools/run-tests.py --build $(BUILD) tests/cluster

sanitize: sanitize-address sanitize-thread

sanitize-%:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory build-$*/build.ninja
	ninja -C build-$*
	tools/run-tests.py --build build-$* $(SANITIZED_SUITES)

fuzz:
	tools/install-deps.sh build fuzz
	$(MAKE) --no-print-directory build-fuzz/build.ninja
	ninja -C build-fuzz fuzzers
	tools/run-fuzz.sh build-fuzz

bench: build
	BUILD=$(BUILD) tests/bench/run.sh $(ARGS)

format:
	git clang-format --extensions c,h

clean:
	rm -rf $(BUILD) build-address build-thread build-fuzz

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

.PHONY: help build run check check-distros check-cluster sanitize fuzz bench format clean
