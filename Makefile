# Tradewind. `make help` lists the targets.
BUILD ?= build
CC ?= gcc
SAN ?=
WERROR ?=
PREFIX ?= /usr/local
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
OPT := $(if $(SAN),-O1 -g -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all,\
	-O2 -g -D_FORTIFY_SOURCE=3 -fstack-protector-strong $(HARDEN))
CFLAGS_ALL = -std=gnu17 -D_GNU_SOURCE -DTRADEWIND_VERSION='"$(VERSION)"' -Isrc \
	$(OPT) $(WARN) \
	$(if $(WERROR),-Werror) -MMD -MP $(CFLAGS)
LDFLAGS_ALL = $(if $(SAN),-fsanitize=$(SAN)) -Wl,--as-needed $(LDFLAGS)
# What every start pays for; heavy libraries (curl) are loaded by the commands that use them.
LIBS := -lyaml -ljansson -lz -lm -ldl

LIB_SRC := $(filter-out src/main.c,$(wildcard src/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(OUT)/%.o)
# The built-in throughput figures are their CSV, linked in as bytes.
LIB_OBJ += $(OUT)/src/estimate/builtin.o
LIB := $(OUT)/libtradewind.a
BUILTIN := $(if $(wildcard src/catalog/builtin.S),$(OUT)/builtin.o)
PROGRAM := $(OUT)/tradewind

UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
UNIT := $(UNIT_SRC:%.c=$(OUT)/%)

.PHONY: all clean unit
all: $(PROGRAM)

$(PROGRAM): $(OUT)/src/main.o $(LIB) $(BUILTIN)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(LIB): $(LIB_OBJ)
	rm -f $@
	ar rcs $@ $^

$(OUT)/src/%.o: CFLAGS_ALL += -include base/banned.h
$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(OUT)/src/estimate/builtin.o: src/estimate/builtin.S data/throughputs.csv
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

# The built-in catalog: our CSVs, packed into a snapshot at build time and linked in as bytes.
$(OUT)/mkcatalog: $(OUT)/tools/mkcatalog.o $(LIB)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)
$(OUT)/builtin.snapshot: $(OUT)/mkcatalog $(wildcard data/*.csv)
	$(OUT)/mkcatalog data $@
$(OUT)/builtin.o: src/catalog/builtin.S $(OUT)/builtin.snapshot
	$(CC) -c -DSNAPSHOT='"$(OUT)/builtin.snapshot"' -o $@ $<

unit: $(UNIT)
$(OUT)/tests/unit/%: tests/unit/%.c $(LIB) $(BUILTIN) tests/unit/tap.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Itests/unit $(LDFLAGS_ALL) -o $@ $< $(LIB) $(BUILTIN) $(LIBS)

clean:
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(OUT)/src/main.d $(OUT)/tools/mkcatalog.d $(UNIT:=.d)
