# Tradewind. `make help` lists the targets.
BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
WERROR ?=
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_S ?= 60
VERSION := $(shell cat VERSION)

# With SAN=address,undefined or SAN=thread everything goes to a directory of its own.
comma := ,
OUT := $(BUILD)$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null | head -n 1))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wcast-qual -Wwrite-strings -Wswitch-enum -Wnull-dereference \
	-Wdouble-promotion -Wundef -fno-common
ifeq ($(IS_CLANG),)
WARN += -Wlogical-op -Wduplicated-cond
HARDEN := -ftrivial-auto-var-init=zero
endif
DEBUG ?= -g
# What the release build sets to zero, sanitizers find full of nonsense: else its use goes unnoticed.
OPT := $(if $(SAN),-O1 $(DEBUG) -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all \
	-ftrivial-auto-var-init=pattern,\
	-O2 $(DEBUG) -fPIE -D_FORTIFY_SOURCE=3 -fstack-protector-strong $(HARDEN))
CPPFLAGS_ALL = -std=gnu17 -D_GNU_SOURCE -DTRADEWIND_VERSION='"$(VERSION)"' -Isrc $(CPPFLAGS)
CFLAGS_ALL = $(CPPFLAGS_ALL) $(OPT) $(WARN) $(if $(WERROR),-Werror) -MMD -MP $(CFLAGS)
# What is called is looked up at the start, and its table is then read-only.
LDFLAGS_ALL = $(if $(SAN),-fsanitize=$(SAN),-Wl,-z,relro,-z,now) -Wl,--as-needed $(LDFLAGS)
PIE := $(if $(SAN),,-pie)
# What every start pays for; heavy libraries (curl, CLP) are loaded by the commands that use them.
LIBS := -lyaml -lexpat -ljansson -lsqlite3 -lcrypto -lz -lpthread -lm -ldl

# Fuzzers reach what parses: no command, no solver, and little of the broker.
UNFUZZED := $(wildcard src/cli/*/*.c src/web/*/*.c src/app/*.c src/app/*/*.c src/plan/*.c) \
	$(filter-out src/policy/read%.c src/cluster/measured.c,$(wildcard src/policy/*.c src/cluster/*.c)) \
	$(filter-out $(patsubst %,src/broker/%.c,core/details core/gpus core/gpus_wish core/home core/offer core/program core/secrets core/staging daemon/control_line learn/logscan learn/logscan_json learn/profile_import learn/space learn/tfevents learn/template learn/usage pipeline/codecopy pipeline/ignore pipeline/listing pipeline/repository pipeline/usedcode),$(wildcard src/broker/*/*.c))
# Programs of their own.
APART := src/exec/agent/% src/fed/function/%
LIB_SRC := $(filter-out $(APART) $(if $(findstring fuzzer,$(SAN)),$(UNFUZZED)),\
	$(wildcard src/*/*.c src/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(OUT)/%.o)
# Built-in figures are their CSVs, linked in as bytes.
LIB_OBJ += $(OUT)/src/estimate/builtin.o $(OUT)/src/market/builtin.o $(OUT)/src/geo/builtin.o $(OUT)/src/cloud/builtin.o
# Likewise the shell programs of geo-distributed training, which fuzzers do not reach.
LIB_OBJ += $(if $(findstring fuzzer,$(SAN)),,$(OUT)/src/app/geo/scripts.o)
LIB := $(OUT)/libtradewind.a
BUILTIN := $(if $(wildcard src/catalog/builtin.S),$(OUT)/builtin.o)
PROGRAM := $(OUT)/tradewind
# What is copied to other machines: of base and exec only what needs nothing but libc, and static, so
# that it runs on any of them (sanitizers cannot be linked so).
AGENT := $(OUT)/tradewind-agent
AGENT_SRC := $(wildcard src/exec/agent/*.c) $(patsubst %,src/exec/%.c,digest frames inuse jobfile mask notices reuse_line statefile) \
	$(patsubst %,src/base/%.c,buf cachedir err file mem number time utf8)
AGENT_OBJ := $(AGENT_SRC:%.c=$(OUT)/%.o)
# The aggregator of geo-distributed trainings, as a function; and what workers link with: of the rooms
# only those it needs.
FED_SRC := $(wildcard src/fed/*.c src/store/*.c src/store/*/*.c src/net/*.c src/base/*.c)
FED_LIBS := -lexpat -ljansson -lcrypto -lz -lpthread -lm -ldl
AGGREGATOR := $(OUT)/tradewind-aggregator
WORKER_LIB := $(OUT)/libtradewind-worker.a
AGGREGATOR_OBJ := $(patsubst %.c,$(OUT)/%.o,$(wildcard src/fed/function/*.c))

UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
UNIT := $(UNIT_SRC:%.c=$(OUT)/%)
# Small programs that command-line tests use.
TEST_TOOLS := $(patsubst %.c,$(OUT)/%,$(wildcard tests/tools/*.c))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)

.PHONY: all function help check test demo bench soak soak-programs fuzz fuzz-programs lint lint-quick warnings install uninstall deb unit clean fill_lake sim_dag reuse_dag market_figures policy_lp plain_curl
all: $(PROGRAM) $(AGENT) $(AGGREGATOR) $(WORKER_LIB)

help:
	@echo 'make              build $(BUILD)/tradewind'
	@echo 'make demo         build it, plan and run the example pipeline, show what came of it'
	@echo 'make check        what the changes since BASE=REV most likely broke, in two minutes'
	@echo 'make test         everything that must hold before a change goes in'
	@echo 'make bench        times beside their limits'
	@echo 'make soak         all tests with both builds, kills at every write, fuzzing, large lakes, in an hour'
	@echo '                  or so (PARTS="fuzz broker-kill": these parts; FUZZ_S=seconds of each fuzzer)'
	@echo 'make fuzz         fuzz every parser for FUZZ_S=seconds each, on its corpus'
	@echo 'make lint         formatting, layers, sizes, clang-tidy, gcc -fanalyzer'
	@echo 'make install      to $$DESTDIR$$PREFIX (PREFIX=/usr/local); make uninstall undoes it'
	@echo 'make deb          $(BUILD)/tradewind_VERSION_ARCH.deb'
	@echo 'make function     $(BUILD)/tradewind-aggregator.zip, for AWS Lambda'
	@echo 'make clean        remove $(BUILD)'
	@echo 'Settings: CC=clang, SAN=address,undefined or SAN=thread, WERROR=1, BUILD=directory'

# Tests start these thousands of times: with the address sanitizer, most of a start is relocation.
QUICK_START := $(if $(IS_CLANG),,$(if $(findstring address,$(SAN)),-no-pie -static-libasan -static-libubsan))

$(PROGRAM): $(OUT)/src/main.o $(LIB) $(BUILTIN)
	$(CC) $(PIE) $(LDFLAGS_ALL) $(QUICK_START) -o $@ $^ $(LIBS)

$(AGENT): $(AGENT_OBJ)
	$(CC) $(if $(SAN),$(QUICK_START),-static-pie) $(LDFLAGS_ALL) -o $@ $^ -lm

$(AGGREGATOR): $(AGGREGATOR_OBJ) $(FED_SRC:%.c=$(OUT)/%.o)
	$(CC) $(PIE) $(LDFLAGS_ALL) -o $@ $^ -lmicrohttpd $(FED_LIBS)

# One object in which only the header's names are visible: programs that link with it may use all others.
$(OUT)/sdk/c/%.o: CPPFLAGS_ALL += -include base/banned.h
$(WORKER_LIB): $(OUT)/sdk/c/tradewind_worker.o $(FED_SRC:%.c=$(OUT)/%.o)
	$(LD) -r -o $(@:.a=.o) $^
	objcopy --wildcard --keep-global-symbol='tradewind_*' $(@:.a=.o)
	rm -f $@
	ar rcs $@ $(@:.a=.o)

$(LIB): $(LIB_OBJ)
	rm -f $@
	ar rcs $@ $^

$(OUT)/src/%.o: CPPFLAGS_ALL += -include base/banned.h
# Loops over numbers become vector instructions (no code asks which exceptions there were); products
# and sums are never fused, so that every processor gives the same bits.
$(OUT)/src/fed/kernels.o: CFLAGS_ALL += -O3 -ffp-contract=off -fno-trapping-math
$(OUT)/%.o: %.c VERSION
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(OUT)/src/estimate/builtin.o: src/estimate/builtin.S data/throughputs.csv
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

$(OUT)/src/market/builtin.o: src/market/builtin.S $(wildcard data/market-*.csv)
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

$(OUT)/src/geo/builtin.o: src/geo/builtin.S $(wildcard data/geo-*.csv)
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

$(OUT)/src/cloud/builtin.o: src/cloud/builtin.S data/images.csv
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

$(OUT)/src/app/geo/scripts.o: src/app/geo/scripts.S $(wildcard src/app/geo/*.sh)
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

# The built-in catalog: our CSVs, packed into a snapshot at build time and linked in as bytes.
$(OUT)/mkcatalog: $(OUT)/tools/mkcatalog.o $(LIB)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)
$(OUT)/builtin.snapshot: $(OUT)/mkcatalog $(wildcard data/*.csv)
	$(OUT)/mkcatalog data $@
$(OUT)/builtin.o: src/catalog/builtin.S $(OUT)/builtin.snapshot
	$(CC) -c -DSNAPSHOT='"$(OUT)/builtin.snapshot"' -o $@ $<

# Fills lakes for benches and long tests.
fill_lake: $(OUT)/fill_lake
$(OUT)/fill_lake: $(OUT)/bench/fill_lake.o $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# One large simulation, for bench/engine.
sim_dag: $(OUT)/sim_dag
$(OUT)/sim_dag: $(OUT)/bench/sim_dag.o $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# One decision on what is reused, for bench/engine.
reuse_dag: $(OUT)/reuse_dag
$(OUT)/reuse_dag: $(OUT)/bench/reuse_dag.o $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# The published figures of markets, for bench/market.
market_figures: $(OUT)/market_figures
$(OUT)/market_figures: $(OUT)/bench/market_figures.o $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# One large policy problem, for bench/policy.
policy_lp: $(OUT)/policy_lp
$(OUT)/policy_lp: bench/policy_lp.c tests/unit/policy/problems.c $(LIB) $(BUILTIN)
	$(CC) $(CFLAGS_ALL) -Itests/unit $(LDFLAGS_ALL) -o $@ $(filter %.c,$^) $(LIB) $(BUILTIN) $(LIBS)

# The rate of libcurl alone, for bench/clouds.
plain_curl: $(OUT)/plain_curl
$(OUT)/plain_curl: $(OUT)/bench/plain_curl.o $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcurl

# Loops over all columns of a policy's program, and over all offers of a market, are worth vectors;
# the maxima of the latter have them only where there is no NaN to look out for.
VECTORS := $(OUT)/src/market/offline_relax.o
$(OUT)/src/plan/costnet.o $(OUT)/src/policy/ipm.o $(OUT)/src/policy/ipm_system.o $(VECTORS): OPT := $(subst -O2,-O3,$(OPT))
$(VECTORS): OPT += -ffinite-math-only -fno-signed-zeros

# What several tests of a room share stands beside them, without test_ in its name.
unit_shared = $(patsubst %.c,$(OUT)/%.o,$(filter-out $(dir $(1))test_%.c,$(wildcard $(dir $(1))*.c)))
unit: $(UNIT) $(TEST_TOOLS) $(AGENT)
$(OUT)/tests/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $<
# Loaded into a program instead of run; never with sanitizers, which would have to come first.
$(OUT)/tests/tools/%.so: tests/tools/%.so.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) -O2 $(WARN) $(if $(WERROR),-Werror) -MMD -MP -fPIC -shared -o $@ $<
# Tests are run a few times and compiled as often: what takes longest to compile is left out.
$(OUT)/tests/unit/%.o: OPT := $(filter-out -D_FORTIFY_SOURCE=%,$(patsubst -O%,-O0,$(OPT)))
$(OUT)/tests/unit/%.o: CPPFLAGS_ALL += -Itests/unit
.SECONDEXPANSION:
# Headers, which older lists of what depends on what name here, are none of the linker's business.
$(OUT)/tests/unit/sdk/%.o: CPPFLAGS_ALL += -Isdk/c
$(OUT)/tests/unit/sdk/test_worker: $(OUT)/sdk/c/tradewind_worker.o
$(OUT)/tests/unit/store/test_az $(OUT)/tests/unit/store/test_gs: $(OUT)/tests/unit/net/server.o
$(UNIT): $(OUT)/%: $(OUT)/%.o $$(call unit_shared,$$*) $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

# tools/deps first, then a new make: the compiler may not have been there when this one started. On
# all processors, unless somebody said how many: one alone takes longer than the demo may.
demo:
	@tools/deps demo
	@$(MAKE) --no-print-directory -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) all
	@tools/demo $(PROGRAM) $(OUT)/demo-home

# Settings of the command line hold for what is built in $(BUILD), so that its objects fit together.
check:
	@tests/run --check --build $(BUILD) $(if $(BASE),--base $(BASE)) CC='$(CC)'

test:
	@tools/deps test
	@tests/run --build $(BUILD)/test

bench:
	@tools/deps test
	@$(MAKE) --no-print-directory -s all fill_lake sim_dag reuse_dag market_figures policy_lp plain_curl $(OUT)/tests/tools/crc32c.so
	TRADEWIND=$(PROGRAM) bench/run
	TRADEWIND=$(PROGRAM) bench/dags
	TRADEWIND=$(PROGRAM) bench/lake
	TRADEWIND=$(PROGRAM) bench/engine
	TRADEWIND=$(PROGRAM) bench/market
	TRADEWIND=$(PROGRAM) bench/geo
	TRADEWIND=$(PROGRAM) bench/policy
	TRADEWIND=$(PROGRAM) bench/fed
	TRADEWIND=$(PROGRAM) bench/clouds

# What parts of the soak share is built before them, where the tests build, too: those find it done.
SOAK_MAKE = $(MAKE) --no-print-directory -s BUILD=$(BUILD)/test DEBUG=-g1
SOAK_THREADS = $(patsubst %.c,$(BUILD)/test/san-thread/%,$(wildcard tests/unit/store/test_*.c \
	tests/unit/lake/test_*.c tests/tools/*.c) tests/unit/broker/test_workers.c)
soak-programs:
	+@$(SOAK_MAKE) all unit
	+@$(SOAK_MAKE) SAN=address,undefined all unit
	+@$(SOAK_MAKE) SAN=thread all $(SOAK_THREADS)
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/test/fuzz fuzz-programs
soak:
	@tools/deps test
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) soak-programs
	@FUZZ_S=$(FUZZ_S) tests/soak/run $(BUILD)/test $(PARTS)

# libFuzzer comes with clang; SAN is for the library, -fsanitize=fuzzer brings main().
FUZZ_OUT := $(BUILD)/bin
FUZZ_SAN := fuzzer-no-link,address,undefined
fuzz:
	@tools/deps test
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/fuzz fuzz-programs
	@TRADEWIND_BUILD=$(BUILD) FUZZ_S=$(FUZZ_S) tests/soak/fuzz.sh
ifeq ($(SAN),)
fuzz-programs:
	@$(MAKE) --no-print-directory CC=clang SAN=$(FUZZ_SAN) fuzz-programs
else
fuzz-programs: $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_OUT)/%)
$(FUZZ_OUT)/fuzz_%: tests/fuzz/fuzz_%.c $(LIB) $(BUILTIN)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $< $(LIB) $(BUILTIN) $(LIBS)
endif

C_FILES = $(wildcard src/*.c src/*/*.[ch] src/*/*/*.[ch] sdk/*/*.[ch] tools/*.c bench/*.c examples/*/*.[ch] tests/unit/*.h tests/*/*.c tests/*/*/*.[ch])
TIDY_SRC := $(wildcard src/*.c src/*/*.c src/*/*/*.c sdk/c/*.c tools/*.c examples/*/*.c)
# What a compiler has to say of each file, without making anything of it.
warn_of = printf '%s\n' $(1) | xargs -P "$$(nproc)" -n 16 \
	$(CC) $(CPPFLAGS_ALL) $(WARN) -Werror -fsyntax-only
warnings:
	@$(call warn_of,$(filter src/% sdk/%,$(TIDY_SRC))) -include base/banned.h
	@$(call warn_of,$(wildcard bench/*.c tools/*.c tests/unit/*/*.c tests/tools/*.c tests/fuzz/*.c)) -Itests/unit -Isdk/c
lint:
	@tools/deps lint
	@$(MAKE) --no-print-directory -s -k lint-quick $(TIDY_SRC:%=tidy/%) $(TIDY_SRC:%=analyze/%)
lint-quick:
	tools/report-sizes
	tools/check-layers
	tools/check-cleanup
	CC=$(CC) tools/check-headers
	clang-format --dry-run -Werror $(C_FILES)
# One file a process: the analyzer's memory is not shared, and -j helps.
tidy/%:
	clang-tidy --quiet $* -- $(CPPFLAGS_ALL) -Isdk/c 2>/dev/null
analyze/%:
	gcc $(CPPFLAGS_ALL) -Isdk/c -O2 -fanalyzer -Werror -c -o /dev/null $*

DOCS := $(wildcard README.md NEWS.md docs/*.md)
SHARE = $(DESTDIR)$(PREFIX)/share
ZSH_DIR ?= zsh/site-functions
PYTHON_DIR ?= lib/python3/dist-packages
install: $(PROGRAM) $(AGENT) $(AGGREGATOR) $(WORKER_LIB)
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib \
		$(DESTDIR)$(PREFIX)/$(PYTHON_DIR)/tradewind
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec $(SHARE)/man/man1 $(SHARE)/$(ZSH_DIR) \
		$(SHARE)/bash-completion/completions $(SHARE)/doc/tradewind/examples/fashion \
		$(SHARE)/doc/tradewind/examples/geo $(SHARE)/doc/tradewind/examples/cluster \
		$(SHARE)/doc/tradewind/examples/digits
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/tradewind
	install -m 755 $(AGENT) $(DESTDIR)$(PREFIX)/libexec/tradewind-agent
	install -m 755 $(AGGREGATOR) $(DESTDIR)$(PREFIX)/bin/tradewind-aggregator
	install -m 644 sdk/c/tradewind_worker.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(WORKER_LIB) $(DESTDIR)$(PREFIX)/lib
	install -m 644 $(wildcard sdk/python/tradewind/*.py) $(DESTDIR)$(PREFIX)/$(PYTHON_DIR)/tradewind
	$(PROGRAM) help --man >$(SHARE)/man/man1/tradewind.1
	$(PROGRAM) completion bash >$(SHARE)/bash-completion/completions/tradewind
	$(PROGRAM) completion zsh >$(SHARE)/$(ZSH_DIR)/_tradewind
	chmod 644 $(SHARE)/man/man1/tradewind.1 $(SHARE)/$(ZSH_DIR)/_tradewind \
		$(SHARE)/bash-completion/completions/tradewind
	install -m 644 LICENSE $(DOCS) $(SHARE)/doc/tradewind
	install -m 644 $(wildcard examples/*.*) $(SHARE)/doc/tradewind/examples
	install -m 644 $(wildcard examples/geo/*) $(SHARE)/doc/tradewind/examples/geo
	install -m 644 $(wildcard examples/digits/*.py) $(SHARE)/doc/tradewind/examples/digits
	install -m 644 examples/cluster/Makefile $(wildcard examples/cluster/*.yaml examples/cluster/*.[ch]) \
		$(SHARE)/doc/tradewind/examples/cluster
	install -m 644 examples/fashion/Makefile $(wildcard examples/fashion/*.[ch]) \
		$(SHARE)/doc/tradewind/examples/fashion

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tradewind $(DESTDIR)$(PREFIX)/libexec/tradewind-agent \
		$(DESTDIR)$(PREFIX)/bin/tradewind-aggregator $(DESTDIR)$(PREFIX)/include/tradewind_worker.h \
		$(DESTDIR)$(PREFIX)/lib/libtradewind-worker.a \
		$(SHARE)/man/man1/tradewind.1 \
		$(SHARE)/bash-completion/completions/tradewind $(SHARE)/$(ZSH_DIR)/_tradewind
	rm -rf $(SHARE)/doc/tradewind $(DESTDIR)$(PREFIX)/$(PYTHON_DIR)/tradewind

# The aggregator for AWS Lambda: with its libraries, and the loader that fits them.
function: $(AGGREGATOR)
	packaging/mkfunction $(AGGREGATOR) $(OUT)/tradewind-aggregator.zip

deb:
	@tools/deps deb
	@$(MAKE) --no-print-directory -s all
	packaging/mkdeb $(OUT)

clean:
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(AGENT_OBJ:.o=.d) $(AGGREGATOR_OBJ:.o=.d) $(OUT)/sdk/c/tradewind_worker.d $(OUT)/src/main.d $(OUT)/tools/mkcatalog.d $(OUT)/bench/fill_lake.d $(OUT)/bench/sim_dag.d $(OUT)/bench/reuse_dag.d $(OUT)/bench/market_figures.d $(OUT)/bench/plain_curl.d $(wildcard $(OUT)/tests/unit/*/*.d) $(TEST_TOOLS:=.d)
