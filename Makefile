# Chores of this repository. `make test` is everything a change must pass; it installs by name what is missing.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Tests that run at once. Many of them wait: for processes that start, for databases that commit.
TEST_THREADS ?= $(shell echo $$(( 2 * $$(nproc 2>/dev/null || echo 2) )))
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
CACHE := .cache
BUILT := $(abspath $(or $(CARGO_TARGET_DIR),target)/debug/sluice)
VENV := $(CACHE)/interop-venv
CONTRACT_VENV := $(CACHE)/contract-venv
PROXIES_VENV := $(CACHE)/gateway-venv
# tests/deps may have put a newer Node or Go here than the distribution has.
export PATH := $(CURDIR)/$(CACHE)/bin:$(HOME)/.cargo/bin:$(PATH)

.PHONY: help
help:
	@echo "make demo      run the server with its own pages and an example application"
	@echo "make test      check, unit, contract, interop, browser, gateway and tables; installs what is missing"
	@echo "make check     formatting, lints, documentation, dependency arrows"
	@echo "make unit      every Rust test, on SQLite and on a private PostgreSQL"
	@echo "make interop   real OAuth software against the server, on both databases"
	@echo "make contract  every operation of Hydra's OpenAPI document, on both databases, generated requests, and what a real Hydra answered"
	@echo "make hydra     builds Ory Hydra 2.3.0, holds it against its recorded answers, then Sluice; has it and oidc-provider benchmarked; RECORD=1 records them anew"
	@echo "make browser   Chromium on the pages"
	@echo "make gateway   Varnish, nginx, HAProxy, Caddy and others in front of an application, with deploy/; real clients and bad days"
	@echo "make tables    what is made of the measurements of make compare"
	@echo "make postgres-versions  the tests of the store on POSTGRES_VERSIONS ($(POSTGRES_VERSIONS))"
	@echo "make soak      long runs: SOAK_SECONDS=$(SOAK_SECONDS)"
	@echo "make load      measures the release build under wrk; what the numbers mean is in docs/benchmarks.md"
	@echo "make load-gateway   measures the gateway beside nginx, HAProxy, Varnish and Caddy"
	@echo "make load-revocation   measures how long a revoked token passes at gateways"
	@echo "make compare   Sluice, Hydra, Keycloak, npm's oidc-provider and gateways side by side"
	@echo "make dist      the program to ship, in target/dist: built with a profile of itself at work"
	@echo "make fuzz      each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)"

# $(call meanwhile,NAME,THIS,THAT): makes THIS while THAT is made, which waits for no processor and for no network then. What
# THIS says is told at the end.
meanwhile = mkdir -p $(CACHE); $(MAKE) --no-print-directory $(2) >$(CACHE)/$(1).log 2>&1 & this=$$!; \
	trap 'kill $$this 2>/dev/null; wait $$this; cat $(CACHE)/$(1).log; exit 130' INT TERM; \
	$(MAKE) --no-print-directory $(3); that=$$?; wait $$this; this=$$?; cat $(CACHE)/$(1).log; exit $$(( this | that ))

.PHONY: test
test: rust
	@tests/deps
	@$(call meanwhile,downloads,$(STAMPS),check)
	@$(MAKE) --no-print-directory unit
	@$(call meanwhile,contract,SLUICE_BIN=$(BUILT) contract,SLUICE_BIN=$(BUILT) interop)
	@$(MAKE) --no-print-directory SLUICE_BIN=$(BUILT) browser
	@$(MAKE) --no-print-directory SLUICE_BIN=$(BUILT) gateway
	@$(MAKE) --no-print-directory tables

.PHONY: demo
demo: rust
	cargo run --release -- demo

# All that comes over the network, before the long work begins.
.PHONY: deps
deps: rust
	@tests/deps
	@$(MAKE) --no-print-directory $(STAMPS)

.PHONY: rust
rust:
	@command -v cargo >/dev/null || { echo "Rust is missing: install the stable toolchain (1.95 or newer) with rustup, open a new shell, run make again."; exit 1; }

.PHONY: check
check: rust
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cargo xtask check-arrows

.PHONY: unit
unit: rust
	RUST_TEST_THREADS=$(TEST_THREADS) cargo test --workspace --lib --bins --tests
	cargo test --workspace --doc

STAMPS := $(addprefix $(CACHE)/,$(addsuffix .stamp,node python contract proxies java go clients))

# What the real-software tests need beside system packages; rebuilt when a lock file changes.
$(CACHE)/node.stamp: tests/package.json tests/package-lock.json
	cd tests && npm ci --no-fund --no-audit --no-progress
	@mkdir -p $(CACHE) && touch $@

$(CACHE)/python.stamp: tests/interop/python/requirements.txt
	python3 -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(CACHE)/contract.stamp: tests/contract/requirements.txt
	python3 -m venv --clear $(CONTRACT_VENV)
	$(CONTRACT_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(CACHE)/proxies.stamp: tests/gateway/requirements.txt
	python3 -m venv --clear $(PROXIES_VENV)
	$(PROXIES_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(CACHE)/java.stamp: tests/interop/java/pom.xml $(wildcard tests/interop/java/src/test/java/*/*.java)
	rm -rf $(CACHE)/interop-java
	mvn --quiet --batch-mode --file $< test-compile dependency:copy-dependencies
	@touch $@

$(CACHE)/go.stamp: tests/interop/go/go.mod tests/interop/go/go.sum
	cd tests/interop/go && go mod download
	@mkdir -p $(CACHE) && touch $@

$(CACHE)/clients.stamp: tests/gateway/clients/go.mod tests/gateway/clients/go.sum
	cd tests/gateway/clients && go test -c -o /dev/null .
	@mkdir -p $(CACHE) && touch $@

# Unless SLUICE_BIN names one: what `make unit` has built will do. Alone it has fewer features of its libraries, which is another build.
.PHONY: server
server: rust
	@[ -n "$(SLUICE_BIN)" ] || cargo build --package sluice --bin sluice

.PHONY: interop
interop: server $(CACHE)/node.stamp $(CACHE)/python.stamp $(CACHE)/java.stamp $(CACHE)/go.stamp
	tests/interop/run sqlite postgres

.PHONY: contract
contract: server $(CACHE)/contract.stamp
	tests/contract/run sqlite postgres
	tests/hydra/run sqlite postgres

# The program whose answers tests/hydra/hydra-2.3.0.json has: from the modules that go.sum names, in a minute and a half.
HYDRA := $(CACHE)/hydra
$(HYDRA): tests/hydra/server/go.mod tests/hydra/server/go.sum
	cd $(<D) && go build -tags sqlite,json1 -o $(CURDIR)/$@ github.com/ory/hydra/v2
	@touch $@

.PHONY: hydra
hydra: deps server $(HYDRA)
	HYDRA_BIN=$(CURDIR)/$(HYDRA) tests/hydra/run hydra sqlite postgres
	[ -n "$(RECORD)" ] || HYDRA_BIN=$(CURDIR)/$(HYDRA) SLUICE_BIN=$(or $(SLUICE_BIN),$(BUILT)) bench/compare.sh --check hydra oidc-provider

.PHONY: browser
browser: server $(CACHE)/node.stamp
	tests/browser/run

.PHONY: gateway
gateway: server $(CACHE)/node.stamp $(CACHE)/proxies.stamp $(CACHE)/clients.stamp
	tests/gateway/run

# The fault tests of `make unit`, on both databases at once, for as long as SOAK_SECONDS says instead of three rounds. Then
# crowds that register, one after the other: 200,000 requests, and ten long trials in which something is killed. Then every scenario of
# `sluice bench`, one after the other, while server and database are killed again and again. Then logins at a
# pace, with rows that die as fast as they are born. Then revocations, which gateways must hear of in the time that is promised while RATE (200) logins a second come. Before all that the build that nothing else here makes: the one that profiles the heap.
ENDURANCE ?= --rate 772 --duration 30m
.PHONY: soak
soak: deps
	cargo clippy --package sluice --features heap-profile -- -D warnings
	SOAK_SECONDS=$(SOAK_SECONDS) cargo test --package sluice --test it -- --nocapture --skip identity_crash:: --skip bench:: crash::
	SOAK_SECONDS=$(SOAK_SECONDS) cargo test --package sluice --test it -- --nocapture --test-threads=1 identity_crash::
	SOAK_SECONDS=$(SOAK_SECONDS) cargo test --package sluice --test it -- --nocapture --test-threads=1 bench::crash::what_was_answered
	cargo run --release --package sluice -- bench endurance $(ENDURANCE)
	RATE=$(or $(RATE),200) POSTGRES_P99_MS=250 SQLITE_P99_MS=1000 tests/load/revocation.sh

# Takes the machine for itself. LOAD picks parts: registration, pace=RATE, hardening, login, import. ROUNDS=3 tells medians of registration.
LOAD ?= registration hardening login import
.PHONY: load
load: rust wrk
	bench/build.sh
	cargo build --release --package sluice-testkit --examples
	tests/load/identity.sh $(LOAD)

# The store on other versions of PostgreSQL than the installed one; their servers come from Maven Central.
POSTGRES_VERSIONS ?= 14.18.0 16.10.0 17.6.0 18.1.0
.PHONY: postgres-versions
postgres-versions: rust
	RUST_TEST_THREADS=$(TEST_THREADS) tests/postgres-versions $(POSTGRES_VERSIONS)

# The same for gateways, side by side. GATEWAYS picks parts: nginx, sluice, distinct=TOKENS, markers=MARKERS, turns=ROUNDS, knee=ROUNDS, validation, auth_request, haproxy, varnish,
# caddy, traefik, envoy, blocking. NGINX_LOG=each has nginx write each line of its log by itself; MARKER_ROUNDS is how often servers with and without markers take turns.
GATEWAYS ?= nginx sluice validation auth_request haproxy varnish caddy traefik envoy blocking
.PHONY: load-gateway
load-gateway: rust wrk $(CACHE)/proxies.stamp
	bench/build.sh
	cargo build --release --package sluice-testkit --examples
	tests/load/gateway.sh $(GATEWAYS)

# How long a revoked token passes at the gateways of other servers.
.PHONY: load-revocation
load-revocation: rust
	bench/build.sh
	tests/load/revocation.sh

# Other people's servers and Sluice in turns, under one driver. Downloads Keycloak (180 MB), compiles Hydra. COMPARE picks parts: hydra, hydra-tuned,
# keycloak, oidc-provider, gateway; COMPARE=--check only shows that the servers do what is measured.
COMPARE ?= hydra hydra-tuned keycloak oidc-provider gateway
.PHONY: compare
compare: deps wrk
	bench/build.sh
	cargo build --release --package sluice-testkit --examples
	bench/compare.sh $(COMPARE)

.PHONY: tables
tables:
	node --test bench/table.test.js bench/compare.test.js bench/builds.test.js

# The program to ship. Takes the machine for itself, about a quarter of an hour on two cores.
.PHONY: dist
dist: deps
	bench/dist.sh

.PHONY: wrk
wrk:
	@command -v wrk >/dev/null || { as_root=; [ "$$(id -u)" -eq 0 ] || as_root=sudo; \
	  $$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wrk; }

# What is found beyond the committed corpus is kept in the cache; what is worth it goes into fuzz/corpus by hand.
.PHONY: fuzz
fuzz: rust
	@[ -d fuzz/fuzz_targets ] || { echo "there are no fuzz targets: fuzz/fuzz_targets is missing"; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
	@rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
	@set -e; for target in $$(cargo +nightly fuzz list); do \
	  echo "== $$target"; \
	  mkdir -p $(CACHE)/fuzz/$$target; \
	  cargo +nightly fuzz run $$target $(CACHE)/fuzz/$$target fuzz/corpus/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=20000 -timeout=10; \
	done
