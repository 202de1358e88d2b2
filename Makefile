# ovltrace: `make` builds ./ovltrace, `make check` runs what needs no root, `make test` everything.
# V=1 shows the commands, CC=clang builds with clang. Built things live in .output/.

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGCONF ?= pkg-config

O := .output
# floors, top first: an archive may use only those to its right
FLOORS := app view collect load lab model base

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

PKGS     := libbpf json-c libmnl ncursesw zlib libelf
WARN     := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wpointer-arith \
            -Wwrite-strings -Wformat=2 -Wvla
CPPFLAGS += -Iuser -I. -I$(O) -D_GNU_SOURCE
CFLAGS   ?= -O2 -g
CFLAGS_ALL := -std=gnu11 -pthread $(WARN) $(CFLAGS) $(shell $(PKGCONF) --cflags $(PKGS) 2>/dev/null)
LDLIBS   := $(shell $(PKGCONF) --libs $(PKGS) 2>/dev/null) -lm
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

SRC    := $(sort $(shell find user -name '*.c'))
OBJ    := $(SRC:user/%.c=$(O)/obj/%.o)
ASAN   := $(SRC:user/%.c=$(O)/asan/%.o)
MAIN   := app/main
floor_objs = $(filter $(O)/$(1)/$(2)/%,$(filter-out $(O)/$(1)/$(MAIN).o,$(if $(filter asan,$(1)),$(ASAN),$(OBJ))))
LIBS      := $(FLOORS:%=$(O)/lib/libovl_%.a)
ASAN_LIBS := $(FLOORS:%=$(O)/asan/libovl_%.a)

BPF_SRC := $(wildcard bpf/*.bpf.c)
BPF_OBJ := $(BPF_SRC:bpf/%.bpf.c=$(O)/bpf/%.bpf.o)
SKEL    := $(O)/bpf/ovltrace.skel.h
ARCH    := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')

# tests/unit/<floor>_<noun>_test.c is linked with its own floor and those below it
UNIT     := $(wildcard tests/unit/*_test.c)
UNIT_BIN := $(UNIT:tests/unit/%.c=$(O)/tests/%)
floors_from = $(if $(filter $(1),$(FLOORS)),$(shell echo '$(FLOORS)' | sed 's/.*\b$(1)\b/$(1)/'),)

.PHONY: all check test unit clean format-check bpf
all: ovltrace

ovltrace: $(O)/obj/$(MAIN).o $(LIBS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $< $(LIBS) $(LDLIBS)

define floor_rule
$(O)/lib/libovl_$(1).a: $$(call floor_objs,obj,$(1))
	$$(say) AR $$(@F)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && ar rcs $$@ $$^
$(O)/asan/libovl_$(1).a: $$(call floor_objs,asan,$(1))
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach floor,$(FLOORS),$(eval $(call floor_rule,$(floor))))

$(O)/obj/%.o: user/%.c $(O)/flags
	$(say) CC $<
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<
$(O)/asan/%.o: user/%.c $(O)/flags
	$(say) ASAN $<
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(SANITIZE) -MMD -MP -c -o $@ $<

# collect is the only floor that sees the skeleton
$(O)/obj/collect/%.o $(O)/asan/collect/%.o: CPPFLAGS += -isystem $(O)/bpf
$(filter $(O)/obj/collect/% $(O)/asan/collect/%,$(OBJ) $(ASAN)): | $(SKEL)

$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(O)/flags
	$(say) BPF $<
	$(Q)mkdir -p $(@D) && $(CLANG) -g -O2 -mcpu=v3 --target=bpf -D__TARGET_ARCH_$(ARCH) -Ivmlinux -Ibpf \
		-I/usr/include/$(shell uname -m)-linux-gnu -Wall -Wextra -Werror -MMD -MP -c -o $@ $<
$(O)/bpf/ovltrace.bpf.o: $(BPF_OBJ)
	$(say) BPFLINK $@
	$(Q)$(BPFTOOL) gen object $@ $^
$(SKEL): $(O)/bpf/ovltrace.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name ovltrace_bpf > $@.tmp && mv $@.tmp $@
bpf: $(SKEL)

.SECONDEXPANSION:
$(O)/tests/%: tests/unit/%.c tests/unit/tap.h $$(foreach f,$$(call floors_from,$$(firstword $$(subst _, ,$$*))),$(O)/asan/libovl_$$f.a)
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(SANITIZE) -Itests/unit -MMD -MP -o $@ $< \
		$(filter %.a,$^) $(LDLIBS)
unit: $(UNIT_BIN)

# rebuild everything when the compiler or its flags change
$(O)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(CC) $(CLANG) $(CPPFLAGS) $(CFLAGS_ALL)' > $@.new; \
		cmp -s $@.new $@ && rm $@.new || mv $@.new $@
.PHONY: FORCE
FORCE:

check: all unit
	$(Q)tests/run check
test: all unit
	$(Q)tests/run all

clean:
	rm -rf $(O) ovltrace

-include $(OBJ:.o=.d) $(ASAN:.o=.d) $(BPF_OBJ:.o=.d) $(UNIT_BIN:=.d)
