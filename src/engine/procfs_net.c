/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/PID/net: the network's rows. */
#include "base/cleanup.h"
#include "engine/procfs.h"

static const struct procfs_row rows[] = {
	{ .pattern = "dev_snmp6/*", .action = PROCFS_UNKNOWN },
};

const struct procfs_table procfs_net_table = { rows, ARRAY_SIZE(rows) };
