# SPDX-License-Identifier: GPL-2.0
# Virtual machines with stock kernels. Included by the top-level Makefile.
# ARCH is kbuild's word with other values, so Debian's name has its own.

KERNEL ?= 6.12
ARCH_DEB ?= amd64
export KERNEL ARCH_DEB

.PHONY: vm-deps vm-kernel vm-rootfs vm-modules vm-shell demo check check-debug

vm-deps:
	@selftests/vm/deps.sh

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
	@selftests/vm/check.sh

check-debug:
	@KERNEL=debug TIMEOUT=3000 selftests/vm/check.sh
