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
# SHARE_address=1/3: every third of pytest's tests. .ci/run has such shares.
SUITES_address = $(NATIVE_SUITES) tests/integration
SUITES_thread = $(NATIVE_SUITES) tests/fault

help:
	@echo 'make install        build/annals and what belongs to it, below /usr/local (PREFIX=/usr, DESTDIR=/some/root)'
	@echo 'make deb            dist/annals_VERSION_ARCHITECTURE.deb, for the distribution of this machine'
	@echo 'make dist           dist/annals-VERSION-linux-ARCHITECTURE.tar.gz: an executable that needs glibc alone; its SBOM'
	@echo 'make image          dist/annals-VERSION-oci-ARCHITECTURE.tar: an image of it, by buildah'
	@echo 'make check-packages builds packages on fresh roots, installs them on others, runs and removes them; as root (ARGS="trixie")'
	@echo 'make check-reproducible  whether two builds of package, tarball and image are equal'
	@echo 'make run            build, install what is missing, and start "annals up" (ARGS="--port 7443" for its flags)'
	@echo 'make build          build/annals, and build/kubectl-annals, the plugin'
	@echo 'make quick          in a minute: builds, source checks, unit tests, and integration tests of what has changed (K=watch: of that name)'
	@echo 'make check          all tests: source checks, unit, contract, integration, fault and browser tests, exchanges recorded from kube-apiserver'
	@echo 'make check-http2    integration and fault tests, and what was recorded from kube-apiserver, with a client that speaks HTTP/2'
	@echo 'make check-sweeps   controllers and commands of which each request fails in each way; check takes some of them'
	@echo 'make check-upgrade  replicas of the release before are replaced by this build, and back, under load (FROM=v0.1.0)'
	@echo 'make check-distros  builds and tests on fresh roots of Debian 12 and 13 and Ubuntu 24.04; as root (ARGS="trixie")'
	@echo 'make check-cluster  tests beside a real kube-apiserver, and with clients, built from Go modules'
	@echo 'make check-conformance  all conformance specs of Kubernetes that pass; check-cluster runs every third'
	@echo 'make check-kube     behind a kube-apiserver of another version (K8S=v1.31.4)'
	@echo 'make oracle         random programs of StatefulSets against kube-controller-manager and against annals (PROGRAMS=2000)'
	@echo 'make check-histories  random changes by five users behind a kube-apiserver, with troubles, against what was recorded (CHANGES=5000 SEED=7)'
	@echo 'make sanitize       with ASan+UBSan: all but fault tests, with TSan: all but integration tests (sanitize-address, sanitize-thread; SUITES="unit tests/fault")'
	@echo 'make fuzz           every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make mutate         makes random places of the source wrong, and names those that no test notices (N=200, SEED=7, K=server/write)'
	@echo 'make mutate-list    the same with the places that tests/mutants lists (N=20, K=write)'
	@echo 'make bench          measurements, beside and behind kube-apiserver where "make check-cluster" has built it (ARGS="-only ^get")'
	@echo 'make screenshots    docs/images: the page as it looks, light and dark; needs Chromium'
	@echo 'make docs           writes what is made from the source: reference pages, OpenAPI, man pages, Go types'
	@echo 'make recording      docs/images/tour-*.svg: the first two tours of README in a terminal, light and dark'
	@echo 'make upstream       api/upstream: the types of a Kubernetes version, from its Go modules (K8S=v1.36.3)'
	@echo 'make format         clang-format on changed lines'
	@echo 'make clean          removes the build folders'

build: $(BUILD)/build.ninja
	ninja -C $(BUILD) installed

# DESTDIR is meson's own. Nothing is compiled here, so that `sudo make install` leaves no files of root's behind.
.PHONY: install
install: build
	$(if $(PREFIX),meson configure $(BUILD) -Dprefix=$(PREFIX) && ninja -C $(BUILD) build.ninja)
	meson install -C $(BUILD) --no-rebuild --strip --quiet

.PHONY: deb dist image check-packages check-reproducible
deb:
	tools/install-deps.sh build deb
	packaging/deb.sh

dist:
	tools/install-deps.sh build dist
	packaging/dist.sh

image:
	tools/install-deps.sh build dist image
	packaging/image.sh

check-reproducible:
	tools/install-deps.sh build deb dist image
	packaging/check-reproducible.sh

check-packages:
	packaging/check.sh $(ARGS)

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

# Every request of every change fails in its turn, in every way; "make check" takes some of them.
check-sweeps:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory build
	SWEEPS_ALL=1 SUITE_SECONDS=$${SUITE_SECONDS:-7200} tools/run-tests.py --build $(BUILD) tests/integration/test_failing_requests.py

# The release before this one is built once, in a cache. Without it, in a clone without its past, say, the tests are skipped.
check-upgrade:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory build
	previous=$$(tools/previous-release.sh $(FROM)) && ANNALS_PREVIOUS=$$previous tools/run-tests.py --build $(BUILD) tests/fault -k release_upgrade

check-distros:
	tools/check-distros.sh $(ARGS)

check-cluster: peers
	$(MAKE) --no-print-directory build
	TEST_SHARE=$(SHARE_cluster) SUITE_SECONDS=$${SUITE_SECONDS:-3600} tools/run-tests.py --build $(BUILD) tests/cluster

check-conformance: peers
	$(MAKE) --no-print-directory build
	CONFORMANCE_STEP=1 tools/run-tests.py --build $(BUILD) tests/cluster/test_conformance.py

# kube-apiserver of another version, from Go modules.
check-kube: peers
	$(MAKE) --no-print-directory build
	KUBE_APISERVER=$$(tests/cluster/build-kube.sh $(K8S))/kube-apiserver tools/run-tests.py --build $(BUILD) \
		$(addprefix tests/cluster/test_aggregated_,kubectl.py discovery.py watch.py)

# As long as it takes; a minute of it is in check-cluster.
oracle: peers
	$(MAKE) --no-print-directory build
	ORACLE_PROGRAMS=$(or $(PROGRAMS),2000) SUITE_SECONDS=86400 TEST_SECONDS=43200 tools/run-tests.py --build $(BUILD) tests/cluster -k oracle

# Are histories true? A minute of it is in check-cluster. A seed is printed if none is given.
check-histories: peers
	$(MAKE) --no-print-directory build
	HISTORY_CHANGES=$(or $(CHANGES),5000) HISTORY_SEED=$(SEED) SUITE_SECONDS=86400 TEST_SECONDS=43200 \
		TEST_WORKERS=1 PYTEST_ADDOPTS=-s tools/run-tests.py --build $(BUILD) tests/cluster/test_history_random.py

sanitize: sanitize-address sanitize-thread

sanitize-%:
	tools/install-deps.sh build run test
	$(MAKE) --no-print-directory sanitized-$*
	TEST_SHARE=$(SHARE_$*) tools/run-tests.py --build build-$* $(or $(SUITES),$(SUITES_$*))

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
	tools/install-deps.sh build run test mutate
	tools/random_mutants.py $(if $(N),-n $(N)) $(if $(SEED),--seed $(SEED)) $(if $(K),-k '$(K)') --sanitize $(or $(SANITIZE),address) $(ARGS)

mutate-list:
	tools/install-deps.sh build run test
	tools/mutate.py $(if $(N),-n $(N)) $(if $(K),-k '$(K)') $(ARGS)

bench: build
	BUILD=$(BUILD) tests/bench/run.sh $(ARGS)

screenshots: build
	tools/install-deps.sh build run test
	ANNALS_BIN=$(abspath $(BUILD))/annals /usr/bin/python3 tests/browser/screenshots.py

docs: $(BUILD)/build.ninja
	ninja -C $(BUILD) annals tools/reference/declarations
	tools/make-docs.sh $(BUILD)

recording: build
	tools/install-deps.sh build run test picture
	ANNALS_BIN=$(abspath $(BUILD))/annals /usr/bin/python3 tests/integration/recording.py

# Needs Go, which fetches the modules. What it writes is committed: builds need neither.
upstream:
	@test -n '$(K8S)' || { echo 'usage: make upstream K8S=v1.36.3' >&2; exit 1; }
	tools/upstream.py $(K8S)

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
	meson setup build-address -Db_sanitize=address,undefined -Doptimization=1

build-thread/build.ninja:
	rm -rf build-thread
	meson setup build-thread -Db_sanitize=thread -Doptimization=1

build-fuzz/build.ninja:
	rm -rf build-fuzz
	CC=clang meson setup build-fuzz -Dfuzz=true -Dtests=false -Db_sanitize=address,undefined -Db_lundef=false

.PHONY: help build run quick check check-http2 check-sweeps check-distros check-cluster check-conformance check-kube check-histories sanitize sanitized peers oracle fuzz mutate mutate-list bench screenshots recording docs upstream format clean
