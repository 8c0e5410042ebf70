# SPDX-License-Identifier: GPL-2.0
# Stages of the tests, one target each, for check.sh, which sets CELLS, OUT and TIMEOUT. How many
# run in parallel is make's -j.

VM := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
TOP := $(VM)/../..
stage = @$(VM)/stage.sh $@

# Of a cell KERNEL-ARCH:SET or a machine KERNEL-ARCH
machines := $(sort $(foreach cell,$(CELLS),$(firstword $(subst :, ,$(cell)))))
# All tests are five sets in User-mode Linux: they wait for most of their time.
all_sets = $(if $(filter uml-amd64,$1),$(addprefix $1-,others host netns keys agent),$(subst :,-,$1))
guests := $(addprefix guest-,$(foreach cell,$(CELLS),$(call all_sets,$(cell))))
emulated := $(filter-out uml-%,$(machines))
# Of a target KIND-KERNEL-ARCH-SET
kernel = $(word 2,$(subst -, ,$@))
arch = $(word 3,$(subst -, ,$@))
set = $(word 4,$(subst -, ,$@))
user_tests = sh -c 'make -s -C $(TOP)/kmod/tests $1 >&2 && $(TOP)/kmod/tests/$1'
run = $(VM)/run.sh -k $(kernel) -a $(arch) -o $(OUT)/$@

host := tally sources decode compare trace ordering leaves lists omertactl ml-kem
judges := style ciphers clang dissector ynl
.PHONY: host builds processes machines $(host) $(judges) hostile suites pair fresh

host: $(host)
builds: $(addprefix build-,$(machines))
processes: $(filter guest-uml-%,$(guests)) $(addprefix near-,$(filter uml-%,$(machines))) \
	$(addprefix wide-,$(filter uml-%,$(machines)))
# Those that have a machine of their own come last.
machines: $(filter-out guest-uml-%,$(guests)) $(addprefix clone-,$(emulated)) \
	$(addprefix suspend-,$(emulated)) $(addprefix isolated-,$(filter debug-%,$(emulated))) \
	$(addprefix nohz-,$(filter-out debug-%,$(filter %-amd64,$(emulated)))) \
	$(addprefix cpus-,$(filter 6.1-amd64,$(emulated))) $(addprefix wide-,$(filter 6.12-arm64,$(CELLS)))

tally: ; $(stage) $(VM)/ktap_tally_test.py
sources: ; $(stage) $(VM)/sources_test.sh
decode: ; $(stage) $(VM)/decode_capture_test.py
compare: ; $(stage) $(TOP)/selftests/perf/compare_report_test.py
trace: ; $(stage) $(TOP)/selftests/perf/trace_test.py
ordering: ; $(stage) $(VM)/ordering.sh
leaves: ; $(stage) $(call user_tests,leaf_tests)
lists: ; $(stage) $(call user_tests,lists)
omertactl: ; $(stage) make -s -C $(TOP)/tools/omertactl check
ml-kem: ; $(stage) $(VM)/tool_kem.sh check
build-%: ; $(stage) $(VM)/build_test.sh $(kernel) $(arch)

# KASAN and kmemleak need more memory.
guest-%:
	$(stage) $(run) -m $(if $(filter debug,$(kernel)),2G,1G) -t $(or $(TIMEOUT),7200) \
		-- ./run_all.sh $(set)

# More CPUs than the other guests have
near-%: ; $(stage) $(run) -c 4 -t 300 -- ./leaves.sh
wide-%: ; $(stage) $(run) -m 1G -c 8 -t 1800 -- ./run_all.sh wide

clone-%-amd64: ; $(stage) $(run) -f -t 600 -- ./vmfork.sh
clone-%:
	$(stage) echo "1..0 # SKIP only QEMU for x86 has generation ids"
suspend-%-amd64: ; $(stage) $(run) -s -t 900 -- ./suspend.sh
suspend-%:
	$(stage) echo "1..0 # SKIP only QEMU for x86 is woken by a clock"

# On CPUs of which one is isolated, which a kernel that checks itself watches
isolated-%:
	$(stage) $(run) -m 2G -t 1200 -A isolcpus=domain,1 \
		-- ./netns.sh test_policy_percpu test_policy_auto

nohz-%:
	$(stage) $(run) -c 3 -t 300 -A nohz_full=1 -- ./trace.sh test_isolated_cpu

# Newer kernels count the processors' own numbers.
cpus-%:
	$(stage) $(run) -m 2G -t 300 -A possible_cpus=2048 -- ./link.sh test_many_cpus

hostile: ; $(stage) env FORM=$(if $(filter-out %:core,$(CELLS)),short,core) $(VM)/hostile.sh
style: ; $(stage) $(TOP)/selftests/style.sh
ciphers: ; $(stage) $(TOP)/selftests/ciphers.sh
clang: ; $(stage) $(VM)/clang.sh
dissector: ; $(stage) $(TOP)/selftests/dissector.sh
ynl: ; $(stage) $(TOP)/selftests/ynl.sh
pair: ; $(stage) $(VM)/pair.sh
suites: ; $(stage) env OUT=$(OUT)/suites $(VM)/suites.sh
# A minimal root of the suite that this machine is not
fresh: ; $(stage) env SUITES=other USERS=newcomer CELLS="$(FRESH)" $(TOP)/selftests/fresh.sh
