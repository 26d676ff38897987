# SPDX-License-Identifier: GPL-2.0
#
# Builds the driver for the running kernel, or for the one in KDIR:
#
#	make [KDIR=DIR]
#	make install
#
# For those who change it, with a Debian root file system as tools/testing/vm
# makes them (SUITE=trixie, bookworm or trixie-backports):
#
#	make lint	style and static checks of everything
#	make metrics	sizes of functions and files, share of comments; calls between
#			files and layers

KDIR ?= /lib/modules/$(shell uname -r)/build

all: modules

modules modules_install clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=updates modules_install
	depmod -a

lint:
	tools/lint/lint $(if $(SUITE),--suite $(SUITE))

metrics:
	tools/lint/metrics
	tools/lint/layout

.PHONY: all modules modules_install install clean lint metrics
