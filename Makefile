# "make" alone lists the targets.

GO       ?= go
COMMIT   := $(shell git describe --always --dirty --exclude='*' 2>/dev/null)
VERSION  := $(shell cat VERSION)$(if $(COMMIT),+$(subst -,.,$(COMMIT)))
FUZZTIME ?= 30s

# All builds without the race detector use the same flags, so that packages are compiled once. The linker
# sets the version, because git refuses to answer the Go tool in a checkout that another user owns.
trimpath := -trimpath
static   := CGO_ENABLED=0 GOFLAGS='$(trimpath) -buildvcs=false'
templ    := $(static) $(GO) tool -modfile=tools.mod templ
gotestsum := $(GO) tool -modfile=tools.mod gotestsum --format pkgname-and-test-fails --hide-summary=skipped --

# What "make test" needs, and its packages: those with the longest tests come first, so that no processor
# idles at the end. Tests named TestMore… need more, or minutes: "make test-more" runs them.
testneeds := postgresql pgbouncer chromium compiler symbols sqlite openid bugzilla gitlab debianbts sentry
tests     := ./handlers ./cmd/mishap ./handlers/problems ./tracker ./handlers/bugs ./...
more       = $(sort $(dir $(shell grep -rl --include='*_test.go' '^func TestMore' ./cmd ./crash ./db ./handlers ./notify ./tracker)))

.DEFAULT_GOAL := help
.PHONY: help run build test test-quick test-more cover golden dev gallery generate fmt verify lint deadcode fuzz hard bench bench-symbols schema released-schema deb test-deb image test-image sbom test-build release-notes clean

help: ## lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## builds and starts everything with sample reports, and prints the address
	@.ci/need postgresql
	@$(MAKE) --no-print-directory build
	@bin/devtool demo

build: ## builds bin/mishap and bin/mishap-send, static programs, and bin/devtool
	$(static) GO='$(GO)' .ci/progress -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/mishap ./cmd/mishap-send ./cmd/devtool

# Linking without debug information takes half the time. Many tests wait for other processes, so four at once
# use two processors better than two.
testflags := -vet=off -ldflags=-w -parallel 4 -timeout 60m

# The race detector would let each process sleep for a second at its end, in which no test runs any more.
# Collecting garbage less often saves processor time.
racetests := GOGC=400 GORACE="atexit_sleep_ms=0 $(GORACE)" $(GO) run -race -buildvcs=false ./cmd/devtool postgres -- \
	$(gotestsum) -race $(testflags) -shuffle=on

test: ## runs all tests but those of test-more, with the race detector, a real database and a headless browser
	@.ci/need $(testneeds)
	@$(racetests) -skip '^TestMore' $(tests)

# Tests that ask many similar questions: "make test" asks some of them, "make test-more" all. Most check that private
# data and embargoed problems stay secret.
sampled := TestEmbargoLeavesNoTrace TestVisitorsInferNothing TestVisitorsSeeNothingPrivate TestSecretsInEveryOutput \
	TestSecretsInUpdates TestRights TestEveryFaultEndsInOneBug TestHostileTexts TestHostileFields \
	TestMutationsStayTogether TestCheckSeesDamage TestBugsWithoutMachineData TestReadingThroughFaults \
	TestSectionThroughFaults TestFieldsByReader TestWalks TestNullPointers TestCauses TestAddressesEqualCore \
	TestFramesEqualDebugger TestBroken TestFaultsOfAllKinds TestKillsOfAllKinds

test-more: build ## runs the rest: all pages in a browser, object storage, upgrading PostgreSQL, alerts, failovers, kills and restores, and as root the package and the images
	@.ci/need postgresql chromium compiler symbols clang prometheus
	@skip=None; .ci/need postgresql17 || { printf '\n*** NOT TESTED: upgrading PostgreSQL ***\n\n' >&2; skip="$$skip|UpgradePostgreSQL"; }; \
	.ci/need coredump || { printf '\n*** NOT TESTED: mishap send with systemd-coredump ***\n\n' >&2; skip="$$skip|SystemdCoredump"; }; \
	$(racetests) -run '^TestMore' -skip "^TestMore($$skip)$$" $(more)
	@$(static) MISHAP_TEST_THOROUGH=yes $(GO) run ./cmd/devtool postgres -- $(gotestsum) $(testflags) -run '^($(subst $() ,|,$(sampled)))$$' \
		./cmd/mishap/doctor ./handlers ./handlers/admin ./handlers/api ./tracker/... ./crash/grouping ./crash/symbols ./db
	@packaging/test-deb
	@packaging/test-image

test-quick: ## runs the tests that need no browser and no program but PostgreSQL, without the race detector; what has not changed passes at once
	@.ci/need postgresql
	@$(static) $(GO) run ./cmd/devtool postgres -- $(gotestsum) -short $(testflags) -skip '^TestMore' $(tests)

# A package counts as covered by the tests of all packages: those of handlers test the areas below it.
cover: ## prints the coverage per package and in total, and writes bin/coverage.html
	@.ci/need $(testneeds) clang prometheus
	@rm -rf bin/cover && mkdir -p bin/cover
	@$(static) $(GO) run ./cmd/devtool postgres -- $(gotestsum) $(testflags) -shuffle=on -cover -coverpkg=./... \
		-skip '^TestMore(UpgradePostgreSQL|SystemdCoredump)$$' $(tests) -args -test.gocoverdir=$(CURDIR)/bin/cover
	@$(GO) tool covdata percent -i=bin/cover
	@$(GO) tool covdata textfmt -i=bin/cover -o=bin/coverage.out
	@$(GO) tool cover -html=bin/coverage.out -o bin/coverage.html
	@$(GO) tool cover -func=bin/coverage.out | tail -n 1

golden: ## rewrites golden files: answers of the API, texts of bugs, docs/schema.sql; check the diff
	@.ci/need postgresql
	$(static) $(GO) run ./cmd/devtool postgres -- $(GO) test -count=1 -run '^(TestGolden|TestBugTexts)$$' ./handlers/api ./tracker -update
	@$(MAKE) --no-print-directory schema

# Without -trimpath, because templ's live templates look for their source files.
dev: ## like run, but restarts the server and reloads the browser when a file changes
	$(templ) generate --watch --proxy=http://localhost:8080 --cmd="$(MAKE) --no-print-directory run trimpath="

gallery: build ## shows pages and parts in every state, and rereads style sheets on each request
	@bin/devtool gallery --assets assets/static

generate: ## generates *_templ.go from *.templ
	$(templ) generate

fmt: ## formats Go and templ files
	$(templ) fmt .
	gofmt -w $$(git ls-files '*.go')

verify: ## checks that generated files, formatting, go.mod and docs/schema.sql are current
	@.ci/need postgresql
	@.ci/verify $(templ)
	@$(MAKE) --no-print-directory release-notes >/dev/null
	$(static) $(GO) test -run '^(TestSchemaIsCurrent|TestMigrationsAreFrozen)$$' ./db

lint: ## runs go vet and golangci-lint
	$(static) $(GO) vet ./...
	$(static) $(GO) tool -modfile=tools.mod golangci-lint run

deadcode: ## lists functions that no program uses; packages for tests are exempt
	@! $(static) $(GO) tool -modfile=tools.mod deadcode ./cmd/... | grep -vE '^(crash/checktest|crash/crashtest|crash/symbols/symboltest|db/dbtest|handlers/people/openidtest|tracker/issuetest|tracker/trackertest|views/gallery)/'

fuzz: ## runs each fuzz target for FUZZTIME, 30s by default
	@$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ { n[++i] = $$1 } /^ok/ { for (; i > 0; i--) print $$2, n[i] }' | \
	while read -r package target; do \
		echo "$$package $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x "$$package" || exit 1; \
	done

hard: ## kills, freezes, fails over and restores servers under load, and repeats randomised tests
	@.ci/need postgresql
	@MISHAP_TEST_KILLS=200 MISHAP_TEST_SEEDS=40 $(GO) run ./cmd/devtool postgres -- \
		$(GO) test -count=1 -v -timeout 60m -run '^(TestMoreKillUnderLoad|TestMoreFailover|TestMoreKilledInstances|TestMachine)$$' ./cmd/mishap ./tracker
	@MISHAP_TEST_THOROUGH=yes $(GO) run ./cmd/devtool postgres -- $(gotestsum) -count=1 -timeout 60m ./crash/... ./db ./handlers/...

bench: build ## measures accepting reports, or another SCENARIO (docs/performance.md): make bench SCENARIO=pages DATA_DIR=...
	@.ci/need postgresql
	$(if $(SCENARIO),,$(static) $(GO) test ./handlers/ingest -run '^$$' -bench Reports -benchtime 4s)
	@bin/devtool bench $(SCENARIO) $(if $(DATA_DIR),--data-dir '$(DATA_DIR)')

bench-symbols: ## measures symbolising: cores per minute, memory, frames as in gdb, addresses per second, the sandbox
	@.ci/need symbols
	$(static) $(GO) test ./crash/symbols -run '^$$' -bench '^BenchmarkSymbols$$' -benchtime 5s -timeout 20m

schema: ## writes docs/schema.sql from the migrations, and adds the checksums of new ones
	@.ci/need postgresql
	$(static) $(GO) test -run '^(TestSchemaIsCurrent|TestMigrationsAreFrozen)$$' -count=1 ./db -update

released-schema: ## dumps a database of the version in VERSION, for tests of upgrades from it
	@.ci/need postgresql
	$(static) $(GO) test -run '^TestReleasedSchema$$' -count=1 ./db -release "$$(cat VERSION)"

deb: ## builds the Debian packages in bin, the same bytes from the same commit
	@packaging/deb

test-deb: ## builds the package twice, runs lintian, and installs, upgrades, removes and purges it in a chroot; needs root
	@packaging/test-deb

# podman and buildah leave out the health check in their own format.
image: build ## builds container images, without and with PostgreSQL, with podman, docker or buildah
	@engine=$$(command -v podman || command -v docker || command -v buildah) || { echo 'Install podman: apt-get install podman' >&2; exit 1; }; \
	for contents in minimal postgresql; do \
		BUILDAH_FORMAT=docker $$engine build --build-arg CONTENTS=$$contents --tag mishap:$$(cat VERSION)-$$contents . || exit 1; \
	done

test-image: build ## builds both images with buildah and runs them; needs root
	@packaging/test-image

sbom: build ## writes the bill of materials of bin/mishap to bin/mishap.cdx.json, in the format of CycloneDX
	$(static) $(GO) tool -modfile=tools.mod cyclonedx-gomod bin -json -noserial -notimestamp -version 'v$(VERSION)' \
		-output bin/mishap.cdx.json bin/mishap

test-build: ## builds the committed program in two folders and compares the bytes
	@packaging/test-build

release-notes: ## prints the notes of the version in VERSION, from CHANGELOG.md
	@awk -v version="$$(cat VERSION)" '/^## / { inside = $$2 == version; next } inside { print; found = 1 } END { exit !found }' CHANGELOG.md

clean: ## removes bin; data stay
	rm -rf bin
