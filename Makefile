# The one task runner. Everything that takes more than a line is a script in
# .ci/lib, so that it can be read, checked and run on its own.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/runnerhub/runnerhub/mcp.Version=$(VERSION)
export LDFLAGS

# Tests start containers, databases and browsers, so more packages at once than
# there are cores only makes them wait for each other. The time-out is for one
# package, under the race detector, on a machine with two cores.
TEST_FLAGS ?= -race -timeout 15m
PKG ?= ./...

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build both programs into ./bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/runnerhub ./cmd/runnerctl

.PHONY: demo
demo: ## Start a hub, pair this machine, run one job in Docker, take it all down
	@.ci/lib/ensure-docker.sh
	@.ci/lib/ensure-images.sh
	@$(MAKE) -s build
	@.ci/lib/demo.sh

.PHONY: examples
examples: ## Run every example that needs no registry
	@.ci/lib/ensure-docker.sh
	@.ci/lib/ensure-images.sh
	@$(MAKE) -s build
	@.ci/lib/examples.sh

.PHONY: test
test: ## Set up what the tests need and run them all, with the race detector (PKG=./hub/... for some)
	@env=$$(.ci/lib/test-env.sh); eval "$$env"; go test $(TEST_FLAGS) $(PKG)

.PHONY: test-clients
test-clients: ## Have other people's MCP clients, from npm and Go modules, do the main job on real programs
	@.ci/lib/ensure-docker.sh
	@.ci/lib/ensure-images.sh
	@RUNNERHUB_TEST_CLIENTS=$$(.ci/lib/ensure-clients.sh); export RUNNERHUB_TEST_CLIENTS; \
		go test -tags clients -timeout 10m -count 1 ./cmd/clients

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each (10s)
	@env=$$(.ci/lib/test-env.sh); eval "$$env"; .ci/lib/fuzz.sh

.PHONY: model
model: ## Check the model of the lease machine, and that its broken variants are refuted
	@.ci/lib/ensure-spin.sh
	@.ci/lib/model.sh

.PHONY: prove
prove: ## Play 10,000 random histories on each store (CHECKS=1000 for fewer), for a night
	@env=$$(.ci/lib/test-env.sh); eval "$$env"; \
		go test -run '^TestHistories$$' -timeout 12h -v ./hub/modeltest -rapid.checks=$${CHECKS:-10000}

# A module of its own, so that what it compares with never becomes ours. The
# table is written by a whole run alone.
BENCH ?= .

.PHONY: bench
bench: ## Measure our own cost and that of others side by side, as ratios (BENCH=Heartbeats for some)
	@env=$$(.ci/lib/test-env.sh); eval "$$env"; \
	go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 30m $(PKG); \
	go -C bench test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 30m . \
		$(if $(filter .,$(BENCH)),-write ../docs/performance.md)

.PHONY: many
many: ## Run 200 jobs on one runner, half of them canceled or killed, and look for what they leave
	@env=$$(.ci/lib/test-env.sh); eval "$$env"; RUNNERHUB_TEST_JOBS=200 go test -race -timeout 60m -v -run '^TestManyJobsLeaveNothing$$' ./cmd

.PHONY: chaos
chaos: ## Break everything around hubs and runners for DURATION (3m) by SEED, SEEDS in a row (1)
	@env=$$(.ci/lib/test-env.sh); eval "$$env"; .ci/lib/chaos.sh

.PHONY: lint
lint: bin/golangci-lint ## Check the code, the import rules, the scripts and go.mod
	@.ci/lib/ensure-shellcheck.sh
	shellcheck -x .ci/run .ci/lib/*.sh
	go mod tidy -diff
	go -C bench mod tidy -diff
	bin/golangci-lint run --allow-parallel-runners
	cd bench && ../bin/golangci-lint run --allow-parallel-runners

.PHONY: fmt
fmt: bin/golangci-lint ## Format the Go code
	bin/golangci-lint fmt

.PHONY: cross
cross: ## Build both programs for linux, darwin and windows, amd64 and arm64, into ./dist
	@.ci/lib/cross.sh

.PHONY: generate
generate: ## Write the generated files and the README's tables again
	go generate ./...

.PHONY: tools
tools: bin/golangci-lint ## Build the developer tools into ./bin

# A module of its own, so that a linter's dependencies never become ours.
bin/golangci-lint: .ci/tools/go.mod .ci/tools/go.sum
	go -C .ci/tools build -trimpath -ldflags '-s -w' -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: down
down: ## Stop the services that these targets have started and left running
	@.ci/lib/stop-postgres.sh
	@.ci/lib/stop-docker.sh

.PHONY: clean
clean: down ## Stop the services and remove what was built
	rm -rf bin dist
