# ovltrace: `make` builds ./ovltrace, `make static` a program for pods, `make check` runs what needs no root, `make test` everything.
# V=1 shows the commands, CC=clang builds with clang, O=DIR builds elsewhere (then without
# touching ./ovltrace). Built things live in .output/.

ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGCONF ?= pkg-config

O := .output
PROGRAM := $(O)/ovltrace

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

# floors, top first, and what each may use: tests/floors.txt is the one place
FLOORS := $(shell awk '$$1 == "floor" { all = $$2 " " all } END { print all }' tests/floors.txt)
uses    = $(shell awk '$$1 == "floor" && $$2 == "$(1)" { for (i = NF; i > 3; i--) print $$i }' \
		tests/floors.txt)
$(foreach floor,$(FLOORS),$(eval uses_$(floor) := $(call uses,$(floor))))

PKGS     := libbpf json-c libmnl ncursesw zlib libelf
WARN     := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wpointer-arith \
            -Wwrite-strings -Wformat=2 -Wvla
CPPFLAGS += -Iuser -I. -I$(O) -D_GNU_SOURCE
CFLAGS   ?= -O2 -g
CFLAGS_ALL := -std=gnu11 -pthread $(WARN) $(CFLAGS) $(shell $(PKGCONF) --cflags $(PKGS) 2>/dev/null)
LDLIBS   := $(shell $(PKGCONF) --libs $(PKGS) 2>/dev/null) -lm
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

ifneq ($(MAKECMDGOALS),clean)
ifneq ($(shell $(PKGCONF) --exists $(PKGS) 2>/dev/null && echo yes),yes)
$(error libraries to build with are missing ($(PKGS)): run scripts/install-deps build as root)
endif
endif

SRC    := $(sort $(shell find user -name '*.c'))
OBJ    := $(SRC:user/%.c=$(O)/obj/%.o)
ASAN   := $(SRC:user/%.c=$(O)/asan/%.o)
MAINS  := app/main app/main_load
floor_objs = $(filter $(O)/$(1)/$(2)/%,$(filter-out $(MAINS:%=$(O)/$(1)/%.o),$(if $(filter asan,$(1)),$(ASAN),$(OBJ))))
LIBS      := $(FLOORS:%=$(O)/lib/libovl_%.a)
ASAN_LIBS := $(FLOORS:%=$(O)/asan/libovl_%.a)

BPF_SRC := $(sort $(wildcard bpf/*.bpf.c))
BPF_OBJ := $(BPF_SRC:bpf/%.bpf.c=$(O)/bpf/%.bpf.o)
# programs of one folder are one object and one skeleton of their own: those of bpf/ itself, "ovltrace"
BPF_SETS := $(patsubst bpf/%/,%,$(sort $(dir $(wildcard bpf/*/*.bpf.c))))
SKEL    := $(O)/bpf/ovltrace.skel.h $(BPF_SETS:%=$(O)/bpf/%.skel.h)
bpf_objs = $(patsubst bpf/%.bpf.c,$(O)/bpf/%.bpf.o,$(sort $(wildcard bpf/$(1)/*.bpf.c)))
BPF_OBJ += $(foreach set,$(BPF_SETS),$(call bpf_objs,$(set)))
ARCH    := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/;s/ppc64le/powerpc/;s/riscv64/riscv/')

# tests/unit/<floor>_<noun>_test.c is linked with its own floor and those that floor may use,
# under ASan and UBSan; tests/tools/*.c are programs for tests, linked like ovltrace itself
UNIT      := $(sort $(wildcard tests/unit/*_test.c))
UNIT_BIN  := $(UNIT:tests/unit/%.c=$(O)/tests/%)
TOOLS     := $(sort $(wildcard tests/tools/*.c))
TOOLS_BIN := $(TOOLS:tests/tools/%.c=$(O)/tests/%)

.PHONY: all static check test unit tools libs bpf clean FORCE can-test
.DELETE_ON_ERROR:

ifeq ($(O),.output)
all: ovltrace
ovltrace: $(PROGRAM)
	$(Q)ln -f $< $@
else
.PHONY: ovltrace
all ovltrace: $(PROGRAM)
endif

$(PROGRAM): $(O)/obj/app/main.o $(LIBS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $< $(LIBS) $(LDLIBS)

# To copy into a pod: `peer` and `--no-trace` alone. Debian has no static libmnl, and BPF, labs and
# the terminal have no use there; of the archives ld takes what main_load needs. -w: glibc warns of
# getaddrinfo, which asks for names by files and DNS only when static (README says so).
STATIC := $(O)/ovltrace-static
static: $(STATIC)
$(STATIC): $(O)/obj/app/main_load.o $(LIBS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -static -Wl,-w -o $@ $< $(LIBS) \
		$(shell $(PKGCONF) --static --libs json-c) -lm

define floor_rule
$(O)/lib/libovl_$(1).a: $$(call floor_objs,obj,$(1)) $(O)/list/$(1)
	$$(say) AR $$(@F)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
$(O)/asan/libovl_$(1).a: $$(call floor_objs,asan,$(1)) $(O)/list/$(1)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
# remade when a source file comes or goes
$(O)/list/$(1): FORCE
	$$(call if_changed,$$(call floor_objs,obj,$(1)))
endef
# write text $(1) to the target, but touch it only when it differs
if_changed = @mkdir -p $(@D); printf '%s\n' '$(strip $(1))' > $@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(foreach floor,$(FLOORS),$(eval $(call floor_rule,$(floor))))
libs: $(LIBS)

$(O)/obj/%.o: user/%.c $(O)/flags
	$(say) CC $<
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(DEPFLAGS) -c -o $@ $<
$(O)/asan/%.o: user/%.c $(O)/flags
	$(say) ASAN $<
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(SANITIZE) $(DEPFLAGS) -c -o $@ $<

# collect is the only floor that sees the skeleton: a system header, so that its warnings are not
# ours, hence -MD there (-MMD leaves system headers out)
DEPFLAGS := -MMD -MP
$(O)/obj/collect/%.o $(O)/asan/collect/%.o: CPPFLAGS += -isystem $(O)/bpf
$(O)/obj/collect/%.o $(O)/asan/collect/%.o: DEPFLAGS := -MD -MP
$(filter $(O)/obj/collect/% $(O)/asan/collect/%,$(OBJ) $(ASAN)): | $(SKEL)

$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(O)/flags
	$(say) BPF $<
	$(Q)mkdir -p $(@D) && $(CLANG) -g -O2 -mcpu=v3 --target=bpf -D__TARGET_ARCH_$(ARCH) -Ivmlinux -Ibpf \
		-I/usr/include/$(shell uname -m)-linux-gnu -Wall -Wextra -Werror -MMD -MP -c -o $@ $<
$(O)/bpf/ovltrace.bpf.o: $(BPF_SRC:bpf/%.bpf.c=$(O)/bpf/%.bpf.o) $(O)/list/bpf
$(foreach set,$(BPF_SETS),$(eval $(O)/bpf/$(set).bpf.o: $(call bpf_objs,$(set)) $(O)/list/bpf))
$(SKEL:.skel.h=.bpf.o):
	$(say) BPFLINK $@
	$(Q)$(BPFTOOL) gen object $@ $(filter %.o,$^)
$(SKEL): %.skel.h: %.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf > $@.tmp && mv $@.tmp $@
$(O)/list/bpf: FORCE
	$(call if_changed,$(BPF_OBJ))
bpf: $(SKEL)

.SECONDEXPANSION:
floor_of = $(firstword $(subst _, ,$(1)))
with_below = $(1:%=$(O)/asan/libovl_%.a) $(uses_$(1):%=$(O)/asan/libovl_%.a)
$(UNIT_BIN): $(O)/tests/%: tests/unit/%.c $(O)/flags $$(call with_below,$$(call floor_of,$$*))
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(SANITIZE) -Itests/unit \
		-MMD -MP -MF $@.d -MT $@ -o $@ $< $(filter %.a,$^) $(LDLIBS)
$(TOOLS_BIN): $(O)/tests/%: tests/tools/%.c $(O)/flags $(LIBS)
	$(say) TOOL $@
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -MF $@.d -MT $@ -o $@ $< \
		$(LIBS) $(LDFLAGS) $(LDLIBS)
unit: $(UNIT_BIN)
tools: $(TOOLS_BIN)

# rebuild everything when the compiler or its flags change
$(O)/flags: FORCE
	$(call if_changed,$(CC) $(CLANG) $(CPPFLAGS) $(CFLAGS_ALL))
FORCE:

# said before anything is built: a minimal Debian lacks what the tests need
can-test:
	@perl -MTAP::Parser -e 1 2>/dev/null || { \
		echo 'programs to test with are missing: run scripts/install-deps test as root' >&2; exit 1; }
check: can-test all unit tools
	$(Q)tests/run check
test: can-test all unit tools
	$(Q)tests/run all

clean:
	rm -rf $(O) ovltrace

-include $(OBJ:.o=.d) $(ASAN:.o=.d) $(BPF_OBJ:.o=.d) $(UNIT_BIN:=.d) $(TOOLS_BIN:=.d)
