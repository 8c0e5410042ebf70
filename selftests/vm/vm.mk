# SPDX-License-Identifier: GPL-2.0
# Virtual machines with stock kernels. Included by the top-level Makefile.
# KERNEL is a name of kernels.tsv, ARCH one of Debian's.

KERNEL ?= 6.12
ARCH_DEB = $(or $(ARCH),amd64)
export KERNEL ARCH_DEB

.PHONY: vm-deps vm-kernel vm-rootfs vm-modules vm-shell demo check check-all matrix check-debug \
	check-uml check-intree check-kselftest check-package check-fresh check-suites check-ciphers \
	check-dissector check-ynl check-tracers check-networkmanager check-dashboard check-proof \
	check-race check-older check-model uml hostile style bench-tunnel bench-channels bench-peers bench-chunk bench-parts \
	bench-bounds bench-report bench-perf bench-trace bench-compare

vm-deps:
	@selftests/vm/deps.sh
	@$(if $(filter arm64,$(ARCH_DEB)),selftests/vm/deps.sh arm64)

vm-kernel: vm-deps
	@selftests/vm/kernel.sh $(KERNEL) $(ARCH_DEB)

vm-rootfs: vm-deps
	@selftests/vm/rootfs.sh $(ARCH_DEB)

vm-modules: vm-kernel	## the modules for KERNEL and ARCH, see selftests/vm/kernels.tsv
	@selftests/vm/modules.sh $(KERNEL) $(ARCH_DEB) $(if $(KCFLAGS),KCFLAGS=$(KCFLAGS))

vm-shell: vm-modules	## a shell in a guest with that kernel
	@selftests/vm/run.sh -k $(KERNEL) -a $(ARCH_DEB) -i

demo:			## set everything up and run tunnels in a guest
	@selftests/vm/demo.sh

check:			## set everything up and run the tests with one kernel
	@CELLS="$(CELLS)" JOBS=$(JOBS) CLANG=$(CLANG) STYLE=$(STYLE) FRESH="$(FRESH)" \
		selftests/vm/check.sh

check-all:		## every test target, with one tally
	@selftests/vm/check_all.sh

matrix:			## the tests with all kernels and architectures; compiles with clang
	@selftests/vm/matrix.sh

check-suites:		## tests of the kernel's sources
	@selftests/vm/suites.sh

# In parts: an emulated x86 keeps one CPU busy.
check-debug:		## the tests in a kernel with KASAN, lockdep and kmemleak
	@GUEST_ONLY=yes CELLS="$(addprefix debug-amd64:,others host agent netns keys campaign)" \
		TIMEOUT=7200 JOBS=$(or $(JOBS),2) selftests/vm/check.sh

uml: vm-deps		## User-mode Linux, a kernel that is a process
	@selftests/vm/kernel.sh uml amd64

check-uml:		## the tests in User-mode Linux
	@GUEST_ONLY=yes CELLS=uml-amd64 selftests/vm/check.sh

check-ciphers:		## constant time, and lists of a fuzzer; FUZZ_TIME in seconds
	@selftests/ciphers.sh

check-dissector:	## the dissector for Wireshark, with tshark
	@selftests/dissector.sh

check-ynl:		## the netlink specification, by the kernel's own tool
	@selftests/ynl.sh

check-tracers:		## the scripts for bpftrace and drgn, and perf, in a guest
	@selftests/tracers.sh

check-networkmanager:	## a tunnel beside NetworkManager, in a guest
	@selftests/networkmanager.sh

check-dashboard:	## the example for Grafana, by its own model of dashboards
	@selftests/dashboard.sh

check-proof: vm-deps	## proofs of the leaves by a bounded model checker
	@selftests/vm/proof.sh

check-race:		## data races, in a kernel with KCSAN; TIME in seconds for each test
	@TIME=$(TIME) selftests/vm/race.sh

check-older:		## with an agent from before channels, of commit BASE
	@BASE=$(BASE) selftests/vm/older.sh

check-model: vm-deps	## models of the handshake (needs verifpal) and of memory barriers
	@selftests/model/check.py
	@selftests/vm/ordering.sh

check-intree:		## as a part of the kernel's sources, as modules and built in
	@selftests/vm/intree.sh

check-kselftest:	## as a part of the kernel's selftests
	@selftests/vm/kselftest.sh

check-package:		## the packages, in a root of their own
	@selftests/package.sh

check-fresh:		## the README's commands in minimal roots; SUITES, USERS, CELLS
	@SUITES="$(SUITES)" USERS="$(USERS)" CELLS="$(CELLS)" selftests/fresh.sh

hostile:		## attacks on tunnels in use; FORM=core, short, normal or all; TIME, SEED
	@FORM=$(or $(FORM),normal) TIME=$(TIME) SEED=$(SEED) selftests/vm/hostile.sh

style:			## checkpatch, sparse, layers, language and other checks of the sources
	@selftests/style.sh

bench-tunnel:		## the tunnel against WireGuard and ovpn
	@selftests/perf/bench_tunnel.sh

bench-channels:		## what two channels bring over one
	@selftests/perf/bench_channels.sh

bench-peers:		## devices with thousands of peers; PEERS
	@selftests/perf/bench_peers.sh

bench-compare:		## this tree against the commit BASE
	@BASE="$(BASE)" selftests/perf/bench_compare.sh

bench-chunk:		## the cipher in chunks, and ways to hand work over
	@selftests/perf/bench_chunk.sh

bench-parts:		## parts of the cipher's work, for packets in chunks of 512 and 2048 bytes
	@selftests/vm/deps.sh
	@$(MAKE) -s -C selftests/perf/peers OBJ=$(CURDIR)/build/peers parts

bench-bounds:		## the cipher's vector instructions if none waits for another; x86-64
	@[ "$$(uname -m)" = x86_64 ] || { echo "bench-bounds: only for x86-64" >&2; exit 1; }
	@selftests/vm/deps.sh
	@$(MAKE) -s -C selftests/perf/peers OBJ=$(CURDIR)/build/peers follow
	@selftests/perf/bounds.py build/peers

bench-report:		## report of the last bench-chunk
	@[ -e build/bench-chunk.json ] || selftests/perf/bench_chunk.sh
	@selftests/vm/deps.sh report
	@selftests/perf/bench_report.py build/bench-chunk.json build/bench-report

bench-trace:		## instructions of a packet, function by function
	@selftests/perf/bench_trace.sh

bench-perf:		## profiles, case by case
	@selftests/perf/perf.sh
