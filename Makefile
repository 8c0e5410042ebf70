# SPDX-License-Identifier: GPL-2.0
# See README.md. The targets that boot a kernel are in selftests/vm/vm.mk.

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= /etc
MODULES = $(MAKE) -C $(KDIR) M=$(CURDIR) CONFIG_OMERTA_KUNIT_TEST=n

.PHONY: all modules tool install modules_install uninstall check-config deb docs pictures \
	netlink-gen clean help

all: modules tool	## the modules for the kernel of KDIR, and the tool

modules:
	$(MODULES) modules

tool:			## omertactl and omerta-agent
	$(MAKE) -C tools/omertactl

check-config:		## does the kernel of KDIR have the options that the module needs?
	@selftests/check_config.sh $(KDIR)

modules_install: modules
	$(MODULES) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates modules_install

install: modules_install tool	## install both; DESTDIR, PREFIX
	$(MAKE) -C tools/omertactl install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	install -D -m 644 Documentation/modules-load.conf \
		$(DESTDIR)$(PREFIX)/share/doc/omerta/modules-load.conf

uninstall:		## remove what "make install" installed
	$(MAKE) -C tools/omertactl uninstall DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/omerta
	release=$$($(MAKE) -s -C $(KDIR) kernelrelease) && \
		rm -rf $(DESTDIR)/lib/modules/$$release/updates/kmod && \
		{ [ -n "$(DESTDIR)" ] || depmod $$release; }

deb:			## packages, in build/deb; needs debhelper and dh-dkms
	selftests/vm/deb.sh

docs:			## HTML of Documentation, in build/docs
	@selftests/vm/deps.sh docs
	sphinx-build -q -W --keep-going -b html Documentation build/docs

pictures:		## the SVG files of Documentation/pictures
	@selftests/vm/deps.sh docs
	Documentation/pictures/make.sh

netlink-gen:		## code generated from the netlink specification; KSRC is a kernel's source
	Documentation/netlink/regen.sh $(KSRC)

clean:			## remove everything that was built
	$(MAKE) -C tools/omertactl clean
	$(MAKE) -C kmod/tests clean
	find kmod \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o \
		-name '*.mod.c' -o -name '.*.cmd' -o -name '.*.d' -o -name modules.order -o \
		-name Module.symvers \) -delete
	rm -rf build .module-common.o .*.cmd modules.order Module.symvers
	rm -f $(addprefix selftests/,flood perf/pingpong perf/udprate perf/inject perf/swarm perf/slowdisk.so)
	find . -name __pycache__ -prune -exec rm -rf {} +

help:			## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

include selftests/vm/vm.mk
