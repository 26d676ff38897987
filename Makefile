# SPDX-License-Identifier: GPL-2.0
#
# Builds the driver for the running kernel, or for the one in KDIR:
#
#	make [KDIR=DIR]
#	make install [INSTALL_MOD_PATH=DIR] [PREFIX=/usr/local]		and ipoib-top
#	make uninstall [INSTALL_MOD_PATH=DIR] [PREFIX=/usr/local]
#	make deb	ib-ipoib-dkms_VERSION_all.deb, which has the driver compiled for each
#			kernel of a Debian or Ubuntu system (needs debhelper and dh-dkms)
#	make rpm	ib-ipoib-dkms-VERSION-1.noarch.rpm, the same for RHEL, its clones and
#			SLES (needs rpmbuild)
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

modules: rdma-stack

# Another RDMA stack than the kernel's ends it.
rdma-stack:
	@compat/rdma-stack '$(release)' $(INSTALL_MOD_PATH)

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

version = $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
sources = Kbuild Makefile LICENSE compat cm mcast roce sa *.c *.h
staged = $(DESTDIR)/usr/src/ib_ipoib-$(version)

# What both packages have, but for dkms.conf, manual pages and documents.
stage:
	install -d $(staged) $(DESTDIR)/usr/sbin
	cp -r $(sources) $(staged)
	find $(staged) \( -name '*.o' -o -name '*.mod*' -o -name '.*.cmd' \) -delete
	chmod -R u=rwX,go=rX $(staged)
	install tools/install/ib-ipoib-swap tools/ipoib-top $(DESTDIR)/usr/sbin

# In a copy: nothing is left of it but the package.
copy_to = rm -rf .package && mkdir -p .package/src && \
	cp -r --parents $(sources) dkms.conf debian Documentation tools/install tools/ipoib-top .package/src

deb:
	$(copy_to)
	cd .package/src && dpkg-buildpackage -b -us -uc
	mv .package/*.deb .
	rm -rf .package

# Scripts of the Debian package; the lines for DKMS, which debhelper adds there, are these.
rpm:
	$(copy_to)
	(echo 'set -- configure' && sed -e '/^#!/d' -e \
		's|^#DEBHELPER#|/usr/lib/dkms/common.postinst ib_ipoib $(version) /usr/share/ib-ipoib-dkms "" ""|' \
		debian/ib-ipoib-dkms.postinst) > .package/src/posttrans
	echo 'dkms remove -m ib_ipoib -v $(version) --all || :' > .package/src/preun
	rpmbuild -bb --define '_topdir $(CURDIR)/.package' --define 'ipoib_version $(version)' \
		--define 'ipoib_source $(CURDIR)/.package/src' tools/install/ib-ipoib.spec
	mv .package/RPMS/noarch/*.rpm .
	rm -rf .package

lint:
	tools/lint/lint $(if $(SUITE),--suite $(SUITE))

metrics:
	tools/lint/metrics
	tools/lint/layout

.PHONY: all rdma-stack modules modules_install install uninstall clean stage deb rpm lint metrics
