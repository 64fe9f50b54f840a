#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each classic bug 20 of 20 times with its seed, and 20 of 20 times with its schedule.
HERMIT_CHAOS_REPEATS=20 exec bash "$top_srcdir/tests/integration/chaos_bugs.sh"
