# Ichido. The two commands a newcomer needs: `make run` and `make test`. `make help` lists the rest.

# V picks the flavour: release (hardened), dev (-Werror; for gdb), asan (ASan + UBSan), tsan, cov (gcov), fuzz (clang).
V ?= release
OUT ?= build/$(V)
CC := gcc
# A clean clone compiles what another one compiled before only once, where ccache is installed.
CACHED = $(if $(filter cov fuzz,$(V)),,$(shell command -v ccache))
NPM_CI := npm ci --no-audit --no-fund --silent

WARN := -Wall -Wextra -Wformat=2 -Wconversion -Wshadow -Wmissing-prototypes -Wvla \
        -Wstrict-prototypes -Wundef -Wno-format-nonliteral
HARD := -O2 -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
        -fcf-protection -fPIE
FLAVOUR_release := $(HARD) -g
FLAVOUR_dev := -O1 -g -Werror
FLAVOUR_asan := -O1 -g1 -Werror -fsanitize=address,undefined -fno-sanitize-recover=all \
                -fno-omit-frame-pointer
FLAVOUR_tsan := -O1 -g1 -Werror -fsanitize=thread -Wno-tsan
FLAVOUR_cov := -O0 -g --coverage -fprofile-update=atomic
FLAVOUR_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
                -Wno-bitwise-instead-of-logical
LINK_release := -pie -Wl,-z,relro,-z,now
LINK_asan := -fsanitize=address,undefined
LINK_tsan := -fsanitize=thread
LINK_cov := --coverage
LINK_fuzz := -fsanitize=address,undefined
ifeq ($(V),fuzz)
CC := clang
endif

# llhttp comes as C sources from Debian's node-llhttp; strict in every unit (docs/mechanisms.md).
LLHTTP := /usr/share/llhttp
PACKAGES := libuv openssl sqlite3 libpq libcurl libcjson
# Asked once, and not before `packages` has installed them.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null))$(PACKAGE_CFLAGS)
PACKAGE_LIBS = $(eval PACKAGE_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null))$(PACKAGE_LIBS)
CPPFLAGS = -Isrc -I$(OUT)/gen -D_GNU_SOURCE -DLLHTTP_STRICT_MODE=1 -I/usr/share/include/llhttp \
           $(PACKAGE_CFLAGS)
COMPILE = $(CACHED) $(CC)
CFLAGS = -std=gnu17 -pthread $(WARN) $(FLAVOUR_$(V)) -fdebug-prefix-map=$(CURDIR)=.
# A test program runs once: what compiles and links it soonest is best.
TEST_CFLAGS = $(filter-out -O% -g -D_FORTIFY_SOURCE=%,$(CFLAGS)) -O0 -g1
TEST_LDFLAGS = $(LDFLAGS) $(if $(wildcard /usr/bin/ld.gold),-fuse-ld=gold)
LDFLAGS = -pthread $(LINK_$(V))
LDLIBS = $(PACKAGE_LIBS) -lm

SRC := $(filter-out src/main.c,$(shell find src -name '*.c' | LC_ALL=C sort))
OBJ := $(SRC:src/%.c=$(OUT)/%.o) $(OUT)/gen/migrations.o $(OUT)/gen/web.o
PARSER := $(OUT)/llhttp/api.o $(OUT)/llhttp/http.o $(OUT)/llhttp/llhttp.o
LIB := $(OUT)/libichido.a
ifeq ($(V),fuzz)
OBJ := $(shell tests/fuzz/needs $(OUT)) # clang takes long
PARSER :=
endif
TESTED ?= .
THREADED := observe store http queue auth webhook qstash notify sandbox
# A folder may have no tests of its own: find without a folder would look through all of them.
programs_of = $(patsubst tests/%.c,$(OUT)/%,$(foreach folder,$(wildcard $(1:%=tests/unit/%)),$(shell find $(folder:/.=) -name 'test_*.c' | LC_ALL=C sort)))
UNIT := $(call programs_of,$(TESTED))
# Of these the subject is SQL, and TSan makes them slow.
UNTHREADED := $(addprefix $(OUT)/unit/,qstash/deliver/test_limiter qstash/test_find notify/test_contact notify/test_notification)
UNIT_THREADED := $(filter-out $(UNTHREADED),$(call programs_of,$(THREADED))) $(OUT)/contract/test_store
CONTRACT := $(patsubst tests/contract/%.c,$(OUT)/contract/%,$(wildcard tests/contract/test_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(OUT)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.DEFAULT_GOAL := all
.SECONDARY:
.PHONY: all help run install test lint format bench asan tsan clean quick soak coverage unit unit-programs unit-threaded threaded-programs contract contract-programs e2e orders chaos crash fuzz sim \
        packages packages-test node_modules program FORCE

all: packages ## build build/ichido
	@$(MAKE) --no-print-directory -j$$(nproc) build/ichido

help: ## this list
	@grep -hE '^[a-z0-9_-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

run: all ## install what is missing, build, serve on SQLite and the sandbox
	@build/ichido serve

PREFIX ?= /usr/local
install: all ## the program, its manual page and completions, below DESTDIR and PREFIX
	install -D -m 755 build/ichido $(DESTDIR)$(PREFIX)/bin/ichido
	install -D -m 644 docs/ichido.1 $(DESTDIR)$(PREFIX)/share/man/man1/ichido.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	build/ichido completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ichido
	build/ichido completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ichido

# ---- building -------------------------------------------------------------------------------

packages:
	@tools/packages build
packages-test:
	@tools/packages build test
node_modules: tests/e2e/node_modules/.installed ## install what the end-to-end tests need from npm
tests/e2e/node_modules/.installed: tests/e2e/package-lock.json
	@cd tests/e2e && $(NPM_CI) && touch node_modules/.installed || \
	    { echo "tests: the npm packages of tests/e2e cannot be installed: is the network there?" >&2; exit 2; }

program: $(OUT)/ichido
build/ichido: FORCE
	@$(MAKE) --no-print-directory V=release OUT=build/release build/release/ichido
	@cmp -s build/release/ichido $@ || { cp build/release/ichido $@.new && mv $@.new $@; } # one may be running

$(OUT)/ichido: $(OUT)/main.o $(LIB)
	@echo "  ld $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ) $(PARSER)
	@rm -f $@
	@ar rcs $@ $^

$(OUT)/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(COMPILE) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	@$(COMPILE) $(CPPFLAGS) -std=gnu17 $(filter-out -Werror,$(FLAVOUR_$(V))) -w -c -o $@ $<

$(OUT)/gen/migrations.c: tools/embed $(wildcard sql/*/*.sql) $(wildcard sql/*)
	@mkdir -p $(@D)
	tools/embed sql > $@.new && mv $@.new $@
$(OUT)/gen/web.c: tools/embed_web $(shell find web -type f)
	@mkdir -p $(@D)
	tools/embed_web web > $@.new && mv $@.new $@
$(OUT)/gen/%.o: $(OUT)/gen/%.c
	@echo "  cc $@"
	@$(COMPILE) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# ---- tests ----------------------------------------------------------------------------------

test: packages-test node_modules ## everything that must hold, in under 15 minutes
	@tests/run

unit: $(UNIT) ## unit tests of this flavour
	@tests/each $(UNIT)
unit-programs: $(UNIT)
# What has one thread (the plans of queries) shows nothing under TSan.
unit-threaded: $(UNIT_THREADED)
	@tests/each $^
threaded-programs: $(UNIT_THREADED)
contract: $(CONTRACT) ## the store's tests, on SQLite and on a PostgreSQL of their own
	@tests/each $(CONTRACT)
contract-programs: $(CONTRACT)

asan: packages-test ## unit and contract tests under ASan + UBSan
	@$(MAKE) --no-print-directory V=asan unit contract
tsan: packages-test ## the threaded parts under TSan
	@$(MAKE) --no-print-directory V=tsan unit-threaded

coverage: packages-test node_modules ## lines that unit, contract and end-to-end tests run, by folder
	@find build/cov -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory -j$$(nproc) V=cov program unit contract
	@ICHIDO_BIN=$(CURDIR)/build/cov/ichido tests/e2e/run
	@tools/coverage build/cov

quick: packages-test node_modules ## what a change can break, in three minutes; FILES="src/http/conn.c" names the change
	@tests/quick $(FILES)
soak: packages-test node_modules ## the suite again and again; RUNS=2 BUSY=0 PARTS="e2e"
	@tests/soak -n $(or $(RUNS),2) -b $(or $(BUSY),0) $(PARTS)
e2e: all node_modules ## the real program through HTTP, on both databases
	@tests/e2e/run
orders: all node_modules ## every order of a payment's events, in all three ways, on both databases
	@ORDERS=all tests/e2e/run tests/e2e/orders.test.mjs
chaos: all node_modules ## every fault of the sandbox at once; N=10000 payments a database, SEED=7 STORES=sqlite
	@CHAOS_N=$(or $(N),10000) CHAOS_SEED=$(or $(SEED),7) tests/e2e/run tests/e2e/chaos.test.mjs
crash: all node_modules ## kill -9 loop; KILLS=500 a database
	@KILLS=$(or $(KILLS),500) tests/fault/crash
sim: packages ## the simulator; SEEDS=100000 FIRST=1
	@$(MAKE) --no-print-directory V=dev build/dev/sim/ichido-sim
	@build/dev/sim/ichido-sim --seeds $(or $(SEEDS),1000) --first $(or $(FIRST),1)
fuzz: packages-test build/ichido ## fuzz every parser; SECONDS_EACH=600
	@$(MAKE) --no-print-directory V=fuzz fuzz-programs
	@SECONDS_EACH=$(or $(SECONDS_EACH),60) tests/fuzz/run
fuzz-programs: $(FUZZ)

bench: packages-test node_modules ## speed against a bare insert loop; writes build/bench.json
	@$(MAKE) --no-print-directory V=release build/ichido build/release/bench/loadgen \
	    build/release/bench/bare_sqlite build/release/bench/receiver
	@bench/run

$(OUT)/unit/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(COMPILE) $(CPPFLAGS) -Itests $(TEST_CFLAGS) -MMD -MP -c -o $@ $<
$(OUT)/contract/%.o: tests/contract/%.c
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(COMPILE) $(CPPFLAGS) -Itests $(TEST_CFLAGS) -MMD -MP -c -o $@ $<
$(OUT)/unit/%: $(OUT)/unit/%.o $(LIB)
	@$(CC) $(TEST_LDFLAGS) -o $@ $< $(LIB) $(LDLIBS) -lcmocka -lcjose
$(OUT)/contract/%: $(OUT)/contract/%.o $(LIB)
	@$(CC) $(TEST_LDFLAGS) -o $@ $< $(LIB) $(LDLIBS) -lcmocka
$(OUT)/fuzz/%: tests/fuzz/%.c $(LIB)
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(LIB) $(LDLIBS)
$(OUT)/bench/%: bench/%.c $(LIB)
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(LIB) $(LDLIBS)
$(OUT)/sim/ichido-sim: $(wildcard sim/*.c sim/*.h) $(LIB)
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(CC) $(CPPFLAGS) -I. $(CFLAGS) $(LDFLAGS) -o $@ $(wildcard sim/*.c) $(LIB) $(LDLIBS)

# ---- care -----------------------------------------------------------------------------------

lint: packages-test ## format, clang-tidy, layers, banned calls, no third-party code
	@tools/lint
format: ## let clang-format have its way
	@clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h' | grep -v store/statements)

clean: ## forget what was built
	rm -rf build tests/e2e/node_modules

FORCE:
-include $(OBJ:.o=.d) $(OUT)/main.d $(UNIT:=.d) $(CONTRACT:=.d)
