#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real programs under faults of each kind, with ten seeds, PostgreSQL among them.
HERMIT_FAULT_SEEDS=10 exec bash "$top_srcdir/tests/integration/chaos_programs.sh"
