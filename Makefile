# SPDX-License-Identifier: GPL-2.0
#
# Builds the driver for the running kernel, or for the one in KDIR:
#
#	make [KDIR=DIR]
#	make install [INSTALL_MOD_PATH=DIR] [PREFIX=/usr/local]		and ipoib-top
#	make uninstall [INSTALL_MOD_PATH=DIR] [PREFIX=/usr/local]
#	make deb	ib-ipoib-dkms_VERSION_all.deb, which has the driver compiled for each
#			kernel of a Debian or Ubuntu system (needs debhelper and dh-dkms)
#
# For those who change it, with a Debian root file system as tools/testing/vm
# makes them (SUITE=trixie, bookworm or trixie-backports):
#
#	make lint	style and static checks of everything
#	make metrics	sizes of functions and files, share of comments; calls between
#			files and layers

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local

# Of KDIR, which need not be the running kernel. Debian's 6.1 has the upstream version in
# kernel.release, and installs by this one.
release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' $(KDIR)/include/generated/utsrelease.h)
depmod = depmod -a $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(release)

program = $(INSTALL_MOD_PATH)$(PREFIX)/sbin/ipoib-top
manual = $(INSTALL_MOD_PATH)$(PREFIX)/share/man/man8/ipoib-top.8

all: modules

modules modules_install clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=updates modules_install
	$(depmod)
	install -D -m 755 tools/ipoib-top $(program)
	install -D -m 644 Documentation/ipoib-top.8 $(manual)
	$(if $(INSTALL_MOD_PATH),,-tools/install/ib-ipoib-swap --check)

# The kernel's own driver is found again.
uninstall:
	rm -f $(INSTALL_MOD_PATH)/lib/modules/$(release)/updates/ib_ipoib.ko* $(program) $(manual)
	$(depmod)

# In a copy: nothing is left of it but the package.
deb:
	rm -rf .deb
	mkdir -p .deb/src
	cp -r Kbuild LICENSE Makefile dkms.conf *.c *.h compat cm mcast roce sa debian Documentation tools/install tools/ipoib-top .deb/src
	cd .deb/src && dpkg-buildpackage -b -us -uc
	mv .deb/*.deb .
	rm -rf .deb

lint:
	tools/lint/lint $(if $(SUITE),--suite $(SUITE))

metrics:
	tools/lint/metrics
	tools/lint/layout

.PHONY: all modules modules_install install uninstall clean deb lint metrics
