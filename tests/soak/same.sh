#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The full dose of the main job: all cases of tests/same, 20 runs each, 10 of them beside busy loops.
HERMIT_SAME_RUNS=${HERMIT_SAME_RUNS:-20} HERMIT_SAME_CASES=${HERMIT_SAME_CASES:-all} exec "$top_srcdir/tests/integration/same.sh"
