# SPDX-License-Identifier: GPL-2.0
# Compiler flags for each Kbuild, which has set omerta-dir to kmod: paths of headers, and the
# results of probes of the kernel
ccflags-y += -I$(omerta-dir) -I$(omerta-dir)/../include -I$(omerta-dir)/../include/uapi
omerta-probes := $(shell sh $(omerta-dir)/compat/probe.sh $(srctree))
$(if $(omerta-probes),,$(error probe.sh found nothing in $(srctree)/include))
ccflags-y += $(omerta-probes)
