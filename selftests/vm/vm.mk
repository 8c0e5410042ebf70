# SPDX-License-Identifier: GPL-2.0
# Virtual machines with stock kernels. Included by the top-level Makefile.
# KERNEL is a name of kernels.tsv, ARCH one of Debian's.

KERNEL ?= 6.12
ARCH_DEB = $(or $(ARCH),amd64)
export KERNEL ARCH_DEB

.PHONY: vm-deps vm-kernel vm-rootfs vm-modules vm-shell demo check check-all matrix check-debug check-uml check-package check-fresh uml check-ciphers check-model bench-tunnel bench-peers bench-chunk bench-report bench-perf hostile style bench-compare check-suites

vm-deps:
	@selftests/vm/deps.sh
	@$(if $(filter arm64,$(ARCH_DEB)),selftests/vm/deps.sh arm64)

vm-kernel: vm-deps
	@selftests/vm/kernel.sh $(KERNEL) $(ARCH_DEB)

vm-rootfs: vm-deps
	@selftests/vm/rootfs.sh $(ARCH_DEB)

vm-modules: vm-kernel
	@selftests/vm/modules.sh $(KERNEL) $(ARCH_DEB) $(if $(KCFLAGS),KCFLAGS=$(KCFLAGS))

vm-shell: vm-modules
	@selftests/vm/run.sh -k $(KERNEL) -a $(ARCH_DEB) -i

demo:
	@selftests/vm/demo.sh

check:
	@CELLS="$(CELLS)" JOBS=$(JOBS) CLANG=$(CLANG) STYLE=$(STYLE) FRESH="$(FRESH)" \
		selftests/vm/check.sh

# Every target of tests, with one tally
check-all:
	@selftests/vm/check_all.sh

# All kernels and architectures, and clang
matrix:
	@selftests/vm/matrix.sh

# Others' tests, of the kernel's sources
check-suites:
	@selftests/vm/suites.sh

# A kernel that looks after itself, in parts: an emulated x86 keeps one CPU busy
check-debug:
	@GUEST_ONLY=yes CELLS="$(addprefix debug-amd64:,others agent netns keys campaign)" \
		TIMEOUT=7200 JOBS=$(or $(JOBS),2) selftests/vm/check.sh

# A kernel that is a process, at the processor's own speed
uml: vm-deps
	@selftests/vm/kernel.sh uml amd64

check-uml:
	@GUEST_ONLY=yes CELLS=uml-amd64 selftests/vm/check.sh

# The engine in user space: constant time, and strange lists for FUZZ_TIME seconds
check-ciphers:
	@selftests/ciphers.sh

# Attacks on the handshake, in theory; wants verifpal. Whether memory barriers suffice.
check-model: vm-deps
	@selftests/model/check.py
	@selftests/vm/ordering.sh

# Against WireGuard
bench-tunnel:
	@selftests/perf/bench_tunnel.sh

# Devices with thousands of peers: PEERS
bench-peers:
	@selftests/perf/bench_peers.sh

# Against another commit: BASE
bench-compare:
	@BASE="$(BASE)" selftests/perf/bench_compare.sh

# The cipher in chunks, and ways to hand work over, inside the kernel
bench-chunk:
	@selftests/perf/bench_chunk.sh

# What the last bench-chunk measured; measures if none has
bench-report:
	@[ -e build/bench-chunk.json ] || selftests/perf/bench_chunk.sh
	@selftests/perf/bench_report.py build/bench-chunk.json build/bench-report

# Where the time goes, case by case
bench-perf:
	@selftests/perf/perf.sh

# Attacks on tunnels that are in use: FORM=core, short, normal or all; TIME for the random parts,
# in seconds; SEED
hostile:
	@FORM=$(or $(FORM),normal) TIME=$(TIME) SEED=$(SEED) selftests/vm/hostile.sh

style:
	@selftests/style.sh

check-package:
	@selftests/package.sh

# The README's commands in minimal roots: SUITES, USERS, CELLS
check-fresh:
	@SUITES="$(SUITES)" USERS="$(USERS)" CELLS="$(CELLS)" selftests/fresh.sh
