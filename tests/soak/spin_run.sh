#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each way to wait by spinning, fifty times.
HERMIT_SPIN_RUNS=${HERMIT_SPIN_RUNS:-50} exec "$top_srcdir/tests/integration/spin_run.sh"
