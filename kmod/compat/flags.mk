# SPDX-License-Identifier: GPL-2.0
# For each Kbuild, which has set omerta-dir to kmod: where headers are, and what probes
# says of the kernel.
ccflags-y += -I$(omerta-dir) -I$(omerta-dir)/../include -I$(omerta-dir)/../include/uapi
omerta-probes := $(shell sh $(omerta-dir)/compat/probe.sh $(srctree))
$(if $(omerta-probes),,$(error probe.sh found nothing in $(srctree)/include))
ccflags-y += $(omerta-probes)
