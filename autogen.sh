#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes ./configure from a checkout.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --force --install --warnings=all,no-obsolete
