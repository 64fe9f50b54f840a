/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine is: its name and release, its size, its clock's state. */
#include <errno.h>
#include <stdio.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/proc/machine.h"

static int copy_out(struct engine *e, struct task *t, uint64_t addr, const void *data, size_t size, int64_t value,
		    struct verdict *v)
{
	int r;

	r = guest_write(e, t, addr, data, size);
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, value);
}

static void put_text(char *field, size_t size, const char *text)
{
	(void)snprintf(field, size, "%s", text);
}

int handle_id_uname(struct engine *e, struct task *t, struct verdict *v)
{
	const uint32_t PERSONA_MASK = 0xff, PERSONA_LINUX32 = 0x08;
	struct utsname name = { 0 };

	put_text(name.sysname, sizeof(name.sysname), MACHINE_SYSNAME);
	put_text(name.nodename, sizeof(name.nodename), machine_hostname(e));
	put_text(name.release, sizeof(name.release), MACHINE_RELEASE);
	machine_version(e, name.version);
	put_text(name.machine, sizeof(name.machine),
		 (t->traits.persona & PERSONA_MASK) == PERSONA_LINUX32 ? "i686" : MACHINE_HARDWARE);
	put_text(name.domainname, sizeof(name.domainname), MACHINE_DOMAIN);
	return copy_out(e, t, t->call.args[0], &name, sizeof(name), 0, v);
}

/* struct sysinfo of the x86-64 kernel (linux/sysinfo.h). */
struct kernel_sysinfo {
	int64_t uptime;
	uint64_t loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
	uint16_t procs, pad;
	uint64_t totalhigh, freehigh;
	uint32_t mem_unit;
};
_Static_assert(sizeof(struct kernel_sysinfo) == 112, "struct sysinfo of x86-64");

int handle_id_sysinfo(struct engine *e, struct task *t, struct verdict *v)
{
	struct machine_memory memory = machine_memory(e);
	struct kernel_sysinfo info = {
		.uptime = (int64_t)(machine_uptime_ns(e) / NS_PER_S),
		.totalram = memory.total,
		.freeram = memory.free,
		.sharedram = memory.shared,
		.bufferram = memory.buffers,
		.procs = (uint16_t)machine_count_tasks(e),
		.mem_unit = 1,
	};

	return copy_out(e, t, t->call.args[0], &info, sizeof(info), 0, v);
}

int handle_id_getcpu(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t cpu = task_traits_cpu(&t->traits), node = 0;
	int r = 0;

	if (t->call.args[0])
		r = guest_write(e, t, t->call.args[0], &cpu, sizeof(cpu));
	if (r == 0 && t->call.args[1])
		r = guest_write(e, t, t->call.args[1], &node, sizeof(node));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

/* The guest's own value: that address randomisation is off is our affair. */
int handle_id_personality(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t before = t->traits.persona, asked = (uint32_t)t->call.args[0];

	if (asked != UINT32_MAX)
		t->traits.persona = asked;
	return verdict_return(v, before);
}

/* What a machine without a time server says. Setting is refused. */
static int adjtime_query(struct engine *e, struct task *t, uint64_t addr, struct verdict *v)
{
	const unsigned READ_ONLY = ADJ_OFFSET_SS_READ & 0x7fff;
	const long WORST_ERROR_US = 16000000;
	struct timex timex;
	uint64_t ns = 0;
	int r;

	r = guest_read(e, t, addr, &timex, sizeof(timex));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (timex.modes != 0 && (timex.modes & 0x7fff) != READ_ONLY)
		return verdict_errno(v, EPERM);
	(void)clock_value(&e->clock, CLOCK_REALTIME, &ns);
	timex = (struct timex){
		.modes = timex.modes,
		.maxerror = WORST_ERROR_US,
		.esterror = WORST_ERROR_US,
		.status = STA_UNSYNC,
		.constant = 2,
		.precision = 1,
		.tolerance = 32768000,
		.time = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_usec = (long)(ns % NS_PER_S / 1000) },
		.tick = 10000,
		.tai = (int)(CLOCK_TAI_OFFSET_NS / NS_PER_S),
	};
	return copy_out(e, t, addr, &timex, sizeof(timex), TIME_ERROR, v);
}

int handle_time_adjtimex(struct engine *e, struct task *t, struct verdict *v)
{
	return adjtime_query(e, t, t->call.args[0], v);
}

int handle_time_clock_adjtime(struct engine *e, struct task *t, struct verdict *v)
{
	int clock_id = (int)t->call.args[0], r;
	struct timex timex;
	uint64_t ns;

	if (clock_id == CLOCK_REALTIME)
		return adjtime_query(e, t, t->call.args[1], v);
	r = guest_read(e, t, t->call.args[1], &timex, sizeof(timex));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (clock_only_shows(clock_id) && clock_id < 0)
		return verdict_errno(v, EINVAL); /* no device: none of its descriptors is a clock */
	return verdict_errno(v, clock_id <= CLOCK_THREAD_CPUTIME_ID || clock_value(&e->clock, clock_id, &ns) ? EOPNOTSUPP : EINVAL);
}
