# SPDX-License-Identifier: GPL-2.0
#
# Builds the driver for the running kernel, or for the one in KDIR.

KDIR ?= /lib/modules/$(shell uname -r)/build

all: modules

modules modules_install clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=updates modules_install
	depmod -a

.PHONY: all modules modules_install install clean
