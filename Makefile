# The same targets at home and in CI. Nothing here is longer than three
# lines; longer things are Go programs or scripts under test/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
GO ?= go
# The versions of the tools that are built into bin/.
GOLANGCI_LINT := v2.15.0
GOVULNCHECK := v1.9.0
export CGO_ENABLED ?= 0
# One way to compile for the linters, the program, the tests and what they build, whatever
# directory this is: each other way would compile all dependencies once more. Without
# the unused trace pages of gRPC, the program is smaller: see ADR 106.
TAGS := grpcnotrace
export GOFLAGS ?= -trimpath -tags=$(TAGS)

VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X github.com/det-deploy/det-deploy/cmd/internal/build.version=$(VERSION)

# The image: for which machines, where it goes, and what is said about it.
ARCH ?= $(shell $(GO) env GOARCH)
DIST ?= dist
IMAGE := --file test/image/root:/ --user 65532:65532 --entrypoint /usr/bin/det-deploy \
	--label org.opencontainers.image.title=det-deploy --label org.opencontainers.image.version=$(VERSION) \
	--label org.opencontainers.image.source=https://github.com/det-deploy/det-deploy

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/det-deploy
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/det-deploy ./cmd/det-deploy

PREFIX ?= $(HOME)/.local
.PHONY: install
install: build ## install det-deploy into PREFIX/bin (~/.local/bin)
	install -D -m 0755 bin/det-deploy $(DESTDIR)$(PREFIX)/bin/det-deploy
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "$(PREFIX)/bin is not on PATH; add it: export PATH=$(PREFIX)/bin:\$$PATH" ;; esac

.PHONY: archives
archives: ## write archives for Linux and macOS on amd64 and arm64, with checksums, into dist
	./test/release/archives.sh $(VERSION) $(TAGS) '$(LDFLAGS)'

.PHONY: release
release: ## the archives of a version; fails unless this is its tag and the changelog has its section
	@./test/release/tagged.sh $(VERSION)
	@$(MAKE) --no-print-directory archives

.PHONY: image
image: ## write dist/det-deploy-VERSION-linux-ARCH.tar, the container image, without a daemon
	GOOS=linux GOARCH=$(ARCH) CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -buildvcs=false -ldflags '$(LDFLAGS)' -o $(DIST)/linux-$(ARCH)/det-deploy ./cmd/det-deploy
	CGO_ENABLED=0 $(GO) run ./test/image --tag det-deploy:$(VERSION) --out $(DIST)/det-deploy-$(VERSION)-linux-$(ARCH).tar --arch $(ARCH) --roots --file $(DIST)/linux-$(ARCH)/det-deploy:/usr/bin/det-deploy $(IMAGE)

.PHONY: up
up: build ## build, start a cluster on this machine, and print what to type next
	./bin/det-deploy local up --yes

.PHONY: down
down: build ## stop the cluster on this machine; its data stays
	./bin/det-deploy local down --yes

.PHONY: test
test: setup build ## every test that an ordinary change can break; installs what they need
	./test/run.sh ordinary

.PHONY: test-rest
test-rest: setup build ## the rest: race detector, all storms, dense fault matrices, real nodes, booted machines
	./test/kube/kube.sh check
	./test/run.sh rest

.PHONY: test-all
test-all: test test-rest ## test and test-rest

.PHONY: test-fast
test-fast: ## the tests that need nothing but Go; under two minutes
	$(GO) test -short -timeout 5m ./...

.PHONY: check
check: lint generated test-fast ## what every commit passes: linters, formatting, generated files, go.mod, the fast tests
	@git diff --exit-code -- docs/reference

.PHONY: lint
lint: bin/golangci-lint ## the linters, and go.mod is tidy
	./bin/golangci-lint run ./...
	$(GO) mod tidy -e -diff

.PHONY: fmt
fmt: bin/golangci-lint ## format
	./bin/golangci-lint fmt ./...

.PHONY: generate
generate: ## the Go of the .proto files, and the licenses that the program prints
	$(GO) run ./test/protogen 'master/api/v1/*.proto' 'master/api/agentv1/*.proto'
	$(GO) run ./test/notices

.PHONY: generated
generated: generate ## fail when a generated file is stale
	git diff --exit-code -- '*.pb.go' '*.txt.gz'
	cd master/pages/ui/dist && sha256sum --check --quiet SHA256SUMS

.PHONY: dist
dist: ## the scripts of others in the web pages, from their npm packages of fixed versions
	./test/setup/dist.sh

.PHONY: golden
golden: ## write the golden files and the reference pages anew
	$(GO) test -short -count=1 $$(grep -rl --include='*_test.go' 'det-deploy/test/golden"' . | xargs -n1 dirname | sort -u) -args -update

.PHONY: setup
setup: ## install what the tests need: Docker Engine, PostgreSQL, cloud-init, google-guest-agent, Kubernetes, det, moto, Google's libraries, gcc
	./test/setup/setup.sh

.PHONY: bench
bench: build ## measure the promises; prints one line each
	./test/bench/run.sh

.PHONY: faults
faults: ## what test-rest takes a sample of: every call on a cloud fails in every way, 200 tasks outlive crashes, partitions and full disks, 50 trials kills and a minute without database; hours
	DET_TEST_REST=1 DET_CRASH_TASKS=200 $(GO) test -count=1 -timeout 1h -run Crash ./cmd/det-deploy
	DET_TEST_REST=1 DET_STORM_TRIALS=50 $(GO) test -count=1 -timeout 2h -run 'Survive|StorageFailure' ./test/experiment
	DET_TEST_REST=1 DET_FAULT_STRIDE=1 $(GO) test -count=1 -timeout 5h ./cloud/aws/infra ./cloud/gcp/infra ./installer/target/aws ./installer/target/gcp ./k8s/helm ./installer/target/k8s

.PHONY: fuzz
fuzz: ## every fuzz target, each for FUZZTIME (10s); FUZZ=./k8s/... for a part
	./test/fuzz.sh

.PHONY: vuln
vuln: bin/govulncheck ## look for known vulnerabilities in the program; warns where their list cannot be read
	./test/vuln.sh

.PHONY: house
house: ## print how long, how crowded and how well named the code is
	$(GO) run ./test/house

.PHONY: kube
kube: ## build Kubernetes for the tests (minutes, once), and check a cluster of it when that changed
	./test/kube/kube.sh deps && ./test/kube/kube.sh check

.PHONY: tools
tools: bin/golangci-lint bin/govulncheck ## build the pinned tools into bin/

bin/golangci-lint: Makefile
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	@touch $@

bin/govulncheck: Makefile
	GOBIN=$(CURDIR)/bin $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK)
	@touch $@

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin dist .cache
