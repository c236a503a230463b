# Development of hasp. Every target goes over all modules; `make help` lists the targets.

# The list of modules. go.work has the same; modules_test.go holds the two together.
MODULES := . backend/embedded backend/goredis backend/rueidis backend/valkey bench conformance \
	conformance/matrix examples examples/ownbackend luagen

LINT_VERSION := v2.15.0
LINT := $(CURDIR)/.bin/golangci-lint-$(LINT_VERSION)

TIMEOUT ?= 20m
COUNT ?= 20

# Runs a command in the folder of each module that has packages; fails at the end, if any failed.
in_modules = @failed=; for module in $(MODULES); do \
	[ -n "$$(cd $$module && go list ./... 2>/dev/null)" ] || continue; \
	echo "== $$module: $(1)"; (cd $$module && $(1)) || failed="$$failed $$module"; done; \
	[ -z "$$failed" ] || { echo "failed in:$$failed"; exit 1; }

# A checksum of all Go files and of what else is generated, to see whether a generator changes one,
# also outside of git.
go_files = find . \( -name '*.go' -o -path ./docs/scripts.md \) -not -path './.bin/*' | \
	LC_ALL=C sort | xargs cksum

.PHONY: help demo test verify lint generate race conformance bench
.PHONY: servers formatted vetted generated tidy

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## 8 workers contend for one lock on the embedded server; needs Go alone
	go run ./examples/quickstart

test: servers ## every module's tests on real servers, which are installed if missing
	$(call in_modules,HASP_REQUIRE_SERVERS=1 go test -race -count=1 -timeout $(TIMEOUT) ./...)

verify: formatted vetted lint generated tidy ## formatted, vetted, linted, generated, modules tidy

lint: $(LINT) ## golangci-lint, by the version pinned here
	$(call in_modules,$(LINT) run ./...)

generate: ## run all generators
	$(call in_modules,go generate ./...)

race: servers ## the tests COUNT times (20), to find what one run does not
	$(call in_modules,HASP_REQUIRE_SERVERS=1 go test -race -count=$(COUNT) -timeout 4h ./...)

conformance: servers ## only the conformance suite, on every adapter, server and topology
	cd conformance/matrix && HASP_REQUIRE_SERVERS=1 go test -race -count=1 -timeout $(TIMEOUT) -v ./...

bench: servers ## every module's benchmarks
	$(call in_modules,HASP_REQUIRE_SERVERS=1 go test -run '^$$' -bench . -benchmem ./...)

servers:
	@conformance/servers/install.sh

formatted:
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "not formatted by gofmt:" $$files; exit 1; }

vetted:
	$(call in_modules,go vet ./...)

generated:
	go run ./luagen -check primitives/internal/script
	@before=$$($(go_files)); $(MAKE) --no-print-directory generate && \
	{ [ "$$before" = "$$($(go_files))" ] || { echo "generated code was not current"; exit 1; }; }

# Outside the workspace, as importers see the modules.
tidy:
	$(call in_modules,GOWORK=off go mod tidy -diff)

$(LINT):
	GOWORK=off GOBIN=$(CURDIR)/.bin go install \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv .bin/golangci-lint $@
