# SPDX-License-Identifier: GPL-2.0
# See README.md. The targets that boot a kernel are in selftests/vm/vm.mk.

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= /etc

.PHONY: all modules tool install modules_install check-config deb netlink-gen clean

all: modules tool

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) CONFIG_OMERTA_KUNIT_TEST=n modules

tool:
	$(MAKE) -C tools/omertactl

# What a loaded module needs of the kernel it is built for.
check-config:
	@selftests/check_config.sh $(KDIR)

modules_install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) CONFIG_OMERTA_KUNIT_TEST=n \
		INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates modules_install

install: modules_install tool
	$(MAKE) -C tools/omertactl install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	install -D -m 644 Documentation/modules-load.conf \
		$(DESTDIR)$(PREFIX)/share/doc/omerta/modules-load.conf

# Packages, in build/deb; wants debhelper, dh-dkms and what "make" wants.
deb:
	selftests/vm/deb.sh

# KSRC is an unpacked kernel source with tools/net/ynl.
netlink-gen:
	Documentation/netlink/regen.sh $(KSRC)

clean:
	$(MAKE) -C tools/omertactl clean
	$(MAKE) -C kmod/tests clean
	find kmod \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o \
		-name '*.mod.c' -o -name '.*.cmd' -o -name modules.order -o \
		-name Module.symvers \) -delete

include selftests/vm/vm.mk
