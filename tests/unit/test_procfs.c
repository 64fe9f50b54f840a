/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of /proc over texts as kernels wrote them (Linux 6.18), and what finds the rows. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/engine_internal.h"
#include "engine/proc/procfs.h"

enum { CLOCK_PAGE = 0x7ffff8001000 };

static int no_path_stat(struct guest *g, int task, int dirfd, const char *path, int flags, struct file_stat *ret)
{
	(void)g;
	(void)task;
	(void)dirfd;
	(void)flags;
	if (strcmp(path, "/usr/bin/layered") != 0)
		return -ENOENT;
	*ret = (struct file_stat){ .mode = S_IFREG, .dev = 77, .ino = 99 }; /* as stat(2) has it, unlike the mapping */
	return 0;
}

static int no_descriptor(struct guest *g, int task, int fd)
{
	(void)g;
	(void)task;
	(void)fd;
	return -EBADF;
}

static const struct guest_ops ops = { .path_stat = no_path_stat, .fd_borrow = no_descriptor };
static struct guest guest;
static struct engine *engine;

static void begin(void)
{
	struct engine_options options;

	engine_options_default(&options);
	options.cpus = 3;
	guest = (struct guest){ .ops = &ops, .clock_page_address = CLOCK_PAGE };
	guest.identities.pipe_dev = 12;
	guest.identities.socket_dev = 13;
	guest.identities.namespace_dev = 4;
	guest.identities.namespaces[0].name = "net";
	guest.identities.namespaces[0].ino = 4026532500;
	engine = engine_new(&options, &guest, 2, 2);
	cr_assert_not_null(engine);
	engine->clock.now_ns = 3500000000;
	engine->processes->cpu_ns = 4000000000;
}

static void end(void)
{
	engine = engine_free(engine);
}

TestSuite(procfs, .init = begin, .fini = end);

/* What a file says when the kernel says `text`; a string that is valid until the next call, or NULL with *ret_error set. */
static const char *shown(const char *name, const char *text, int *ret_error)
{
	static char *said;
	struct procfs_view view = { .e = engine, .reader = engine->tasks, .name = name };
	const struct procfs_row *row = procfs_find(&view);
	size_t size;
	FILE *out;
	int r;

	cr_assert_not_null(row, "no row for %s", name);
	if (row->action == PROCFS_TEXT)
		return row->text;
	cr_assert(row->action == PROCFS_FILTER || row->action == PROCFS_MAKE, "%s", name);
	free(said);
	out = open_memstream(&said, &size);
	view.text = piece_of(text);
	r = row->fn(&view, out);
	(void)fclose(out);
	if (ret_error)
		*ret_error = r;
	else
		cr_assert_eq(r, 0, "%s: %d", name, r);
	return r == 0 ? said : NULL;
}

Test(procfs, pieces)
{
	struct piece rest = piece_of("  one\ttwo "), word;
	uint64_t value;

	cr_assert(piece_word(&rest, &word) && piece_is(word, "one"));
	cr_assert(piece_word(&rest, &word) && piece_is(word, "two"));
	cr_assert_not(piece_word(&rest, &word));
	cr_assert(piece_number(piece_of("18446744073709551615"), 10, &value) && value == UINT64_MAX);
	cr_assert_not(piece_number(piece_of("18446744073709551616"), 10, &value));
	cr_assert_not(piece_number(piece_of(""), 10, &value));
	cr_assert_not(piece_number(piece_of("12x"), 10, &value));
	cr_assert(piece_number(piece_of("fG"), 16, &value) == false);
	cr_expect(piece_number(piece_of("fE"), 16, &value) && value == 0xfe);
	cr_assert(piece_matches("a/*/c", "a/b/c"));
	cr_assert_not(piece_matches("a/*/c", "a/b/b/c"));
	cr_assert(piece_matches("max_*", "max_user_namespaces"));
	cr_assert(piece_matches("net/**", "net/a/b"));
	cr_assert_not(piece_matches("stat", "status"));
	cr_assert_lt(piece_compare_natural("9", "10"), 0);
	cr_assert_lt(piece_compare_natural("10", "acpi"), 0);
	cr_assert_lt(piece_compare_natural("Z", "a"), 0);
}

Test(procfs, rows_are_found_by_object)
{
	struct procfs_view view = { .e = engine, .name = "/proc/2/task/2/limits" };

	cr_assert_not_null(procfs_find(&view));
	cr_assert_eq(view.pid, 2);
	cr_assert_eq(view.tid, 2);
	cr_assert_eq(view.task, engine->tasks);
	view = (struct procfs_view){ .e = engine, .name = "/proc/1/cmdline" };
	cr_assert_str_eq(procfs_find(&view)->text, "init");
	cr_assert_null(view.process);
	view = (struct procfs_view){ .e = engine, .name = "/proc/2/no_such_file" };
	cr_assert_null(procfs_find(&view));
	view = (struct procfs_view){ .e = engine, .name = "/somewhere/proc/uptime" };
	cr_assert_null(procfs_find(&view));
}

Test(procfs, stat)
{
	/* a name with everything in it; a tracer's stop; a terminal of the host's */
	static const char text[] =
		"2 (a) R 1 (b)) t 1 2 2 34817 2 4194560 123 456 7 8 90 11 12 13 20 0 1 0 987654 3944448 321 18446744073709551615 "
		"93824992231424 93824993046785 140737488350560 140737488348000 140737354034183 0 65536 3686404 1266761467 1 0 0 17 1 "
		"0 0 55 66 77 93824993279280 93824993327000 93824993333248 140737488351048 140737488351053 140737488351053 "
		"140737488351214 0\n";

	cr_assert_str_eq(shown("/proc/2/stat", text, NULL),
			 "2 (a) R 1 (b)) R 1 2 2 34816 2 4194304 0 0 0 0 200 200 0 0 20 0 1 0 12000 3944448 1024 "
			 "18446744073709551615 93824992231424 93824993046785 140737488350560 0 0 0 65536 3686404 1266761467 0 0 0 17 0 "
			 "0 0 0 0 0 93824993279280 93824993327000 93824993333248 140737488351048 140737488351053 140737488351053 "
			 "140737488351214 0\n");
}

Test(procfs, stat_without_a_name_is_no_stat)
{
	int error;

	cr_assert_null(shown("/proc/2/stat", "", &error));
	cr_assert_eq(error, -EIO);
	cr_assert_null(shown("/proc/2/stat", "2 (x", &error));
}

Test(procfs, statm)
{
	cr_assert_str_eq(shown("/proc/2/statm", "963 777 666 199 0 170 0\n", NULL), "963 1024 768 199 0 170 0\n");
	cr_assert_str_eq(shown("/proc/2/statm", "0 0 0 0 0 0 0\n", NULL), "0 0 0 0 0 0 0\n");
}

Test(procfs, status)
{
	static const char text[] =
		"Name:\tbash\nUmask:\t0022\nState:\tt (tracing stop)\nTgid:\t2\nNgid:\t5\nPid:\t2\nPPid:\t1\nTracerPid:\t999\n"
		"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nGroups:\t \nVmPeak:\t    3944 kB\nVmSize:\t    3944 kB\nVmHWM:\t    1234 kB\n"
		"VmRSS:\t    1234 kB\nSigQ:\t11/96364\nSeccomp:\t2\nSeccomp_filters:\t1\nx86_Thread_features:\t\nCpus_allowed:\t3\n"
		"Cpus_allowed_list:\t0-1\nMems_allowed:\t00000000,00000001\nvoluntary_ctxt_switches:\t55\n";
	const char *got = shown("/proc/2/status", text, NULL);

	cr_assert_not_null(strstr(got, "Name:\tbash\nUmask:\t0022\nState:\tR (running)\nTgid:\t2\nNgid:\t0\n"));
	cr_assert_not_null(strstr(got, "\nTracerPid:\t0\n"));
	cr_assert_not_null(strstr(got, "\nVmSize:\t    3944 kB\n"));
	cr_assert_not_null(strstr(got, "\nVmRSS:\t    4096 kB\n"));
	cr_assert_not_null(strstr(got, "\nSigQ:\t0/16384\n"));
	cr_assert_not_null(strstr(got, "\nSeccomp:\t0\nSeccomp_filters:\t0\n"));
	cr_assert_not_null(strstr(got, "\nCpus_allowed:\t7\nCpus_allowed_list:\t0-2\n"));
	cr_assert_not_null(strstr(got, "\nvoluntary_ctxt_switches:\t0\n"));
	cr_assert_null(strstr(got, "x86_Thread"));
	cr_assert_null(strstr(got, "NStgid")); /* the kernel had none */
}

Test(procfs, status_of_a_zombie_has_no_memory)
{
	engine->tasks->leader_gone = true;
	cr_assert_null(strstr(shown("/proc/2/status", "Name:\tx\nState:\tZ (zombie)\n", NULL), "Vm"));
	cr_assert_not_null(strstr(shown("/proc/2/status", "Name:\tx\nState:\tZ (zombie)\n", NULL), "State:\tZ (zombie)\n"));
}

#define MAP_LINE(range, device, inode, path) range " r-xp 00001000 " device " " inode " " path "\n"

Test(procfs, maps)
{
	static const char text[] =
		MAP_LINE("555555554000-555555556000", "fe:00", "247134", "                    /usr/bin/cat")
		MAP_LINE("555555556000-555555557000", "fe:00", "247134", "                    /usr/bin/cat (deleted)")
		MAP_LINE("555555557000-555555558000", "00:2a", "5", "                         /usr/bin/layered")
		"7ffff7dad000-7ffff7dd2000 rw-p 00000000 00:00 0 \n"
		"7ffff8001000-7ffff8002000 rw-s 00000000 00:01 1057                       /memfd:clock (deleted)\n"
		"7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n";
	char first[4096], number[32];
	const char *got = shown("/proc/2/maps", text, NULL);

	cr_assert_str_eq(got,
			 "555555554000-555555556000 r-xp 00001000 103:00 1000                      /usr/bin/cat\n"
			 "555555556000-555555557000 r-xp 00001000 103:00 1000                      /usr/bin/cat (deleted)\n"
			 "555555557000-555555558000 r-xp 00001000 103:01 1001                      /usr/bin/layered\n"
			 "7ffff7dad000-7ffff7dd2000 rw-p 00000000 00:00 0 \n"
			 "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n");
	(void)snprintf(first, sizeof(first), "%s", got);
	cr_assert_str_eq(shown("/proc/2/maps", text, NULL), first);
	/* one number with stat(2) */
	(void)snprintf(number, sizeof(number), " %llu ", (unsigned long long)inode_number(inode_get(&engine->inodes, 77, 99)));
	cr_assert_not_null(strstr(first, number));
}

Test(procfs, maps_that_are_none)
{
	int error;

	cr_assert_null(shown("/proc/2/maps", "what is this\n", &error));
	cr_assert_eq(error, -EIO);
	cr_assert_str_eq(shown("/proc/2/maps", "", NULL), "");
}

Test(procfs, smaps)
{
	static const char text[] =
		"555555554000-555555556000 r--p 00000000 fe:00 247134                     /usr/bin/cat\n"
		"Size:                  8 kB\nKernelPageSize:        4 kB\nRss:                   8 kB\nPss:                   4 kB\n"
		"THPeligible:           1\nProtectionKey:         0\nVmFlags: rd mr mw me \n"
		"7ffff8001000-7ffff8002000 rw-s 00000000 00:01 1057                       /memfd:clock (deleted)\n"
		"Size:                  4 kB\nRss:                   4 kB\nVmFlags: rd wr sh \n";

	cr_assert_str_eq(shown("/proc/2/smaps", text, NULL),
			 "555555554000-555555556000 r--p 00000000 103:00 1000                      /usr/bin/cat\n"
			 "Size:                  8 kB\nKernelPageSize:        4 kB\nRss:                    0 kB\n"
			 "Pss:                    0 kB\nTHPeligible:           0\nVmFlags: rd mr mw me \n");
}

Test(procfs, numa_maps)
{
	cr_assert_str_eq(shown("/proc/2/numa_maps",
			       "555555554000 default file=/usr/bin/cat mapped=2 mapmax=3 N0=2 kernelpagesize_kB=4\n"
			       "7ffff8001000 default file=/memfd:clock\\040(deleted) dirty=1 N0=1\n"
			       "7ffffffde000 default stack anon=3 dirty=3 N0=3\n",
			       NULL),
			 "555555554000 default file=/usr/bin/cat\n7ffffffde000 default stack\n");
}

Test(procfs, mountinfo)
{
	static const char text[] =
		"248 44 0:169 / / rw,relatime shared:3 master:1 - overlay overlay rw,lowerdir=/,upperdir=/tmp/x.Ab3/upper,workdir=/w\n"
		"250 248 0:172 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
		"274 248 254:0 /home/someone/work /data\\040dir rw,noatime - btrfs /dev/vda2 rw,ssd,subvolid=256\n"
		"275 250 0:172 /sys /proc/sys ro,nosuid - proc proc rw\n"
		"276 248 0:173 / /dev/shm rw,nosuid - tmpfs shm rw,sync,size=65536k\n"
		"277 248 0:174 / /dev rw,nosuid - tmpfs hermit rw\n";

	cr_assert_str_eq(shown("/proc/2/mountinfo", text, NULL),
			 "20 19 259:0 / / rw,relatime - overlay overlay rw\n"
			 "21 20 259:1 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
			 "22 20 259:2 / /data\\040dir rw,relatime - ext4 /dev/root rw\n"
			 "23 21 259:1 /sys /proc/sys ro,nosuid,relatime - proc proc rw\n"
			 "24 20 259:3 / /dev/shm rw,nosuid,relatime - tmpfs shm rw,sync\n"
			 "25 20 259:4 / /dev rw,nosuid,relatime - tmpfs tmpfs rw\n");
}

/* What the host has mounted in the tree that is shown is not in lists, and not counted. */
Test(procfs, own_mounts)
{
	static const char *const points[] = { "/proc", "=/data dir", NULL };
	static const char text[] = "248 44 0:169 / / rw - overlay overlay rw\n"
				   "249 248 0:170 / /data rw - overlay overlay rw\n"
				   "250 249 0:171 / /data/proc rw - tmpfs tmpfs rw\n"
				   "251 248 0:172 / /proc rw - proc proc rw\n"
				   "252 251 0:172 /sys /proc/sys ro - proc proc rw\n"
				   "253 248 0:173 / /process rw - tmpfs tmpfs rw\n"
				   "254 248 0:174 / /data\\040dir rw - tmpfs tmpfs rw\n"
				   "255 248 0:175 / /data\\011dir rw - tmpfs tmpfs rw\n"
				   "256 254 0:176 / /data\\040dir/below rw - tmpfs tmpfs rw\n";

	engine->options.mount_points = points;
	cr_assert_str_eq(shown("/proc/2/mountinfo", text, NULL),
			 "20 19 259:0 / / rw,relatime - overlay overlay rw\n"
			 "21 20 259:1 / /proc rw,relatime - proc proc rw\n"
			 "22 21 259:1 /sys /proc/sys ro,relatime - proc proc rw\n"
			 "23 20 259:2 / /data\\040dir rw,relatime - tmpfs tmpfs rw\n");
	cr_assert_str_eq(shown("/proc/2/mounts", "overlay /data overlay rw 0 0\nproc /proc proc rw 0 0\n", NULL),
			 "proc /proc proc rw,relatime 0 0\n");
	cr_assert_str_eq(shown("/proc/2/mountstats",
			       "device overlay mounted on /data with fstype overlay\ndevice proc mounted on /proc with fstype proc\n", NULL),
			 "device proc mounted on /proc with fstype proc\n");
}

Test(procfs, mounts)
{
	cr_assert_str_eq(shown("/proc/2/mounts",
			       "/dev/vda2 /data btrfs rw,noatime,ssd,subvol=/home 0 1\ntmpfs /tmp tmpfs ro,nosuid,size=1k,mode=755 0 0\n",
			       NULL),
			 "/dev/root /data ext4 rw,relatime 0 0\ntmpfs /tmp tmpfs ro,nosuid,relatime 0 0\n");
	cr_assert_str_eq(shown("/proc/2/mountstats",
			       "device /dev/vda2 mounted on /data with fstype xfs\nno device mounted on /x with fstype tmpfs\n\tage:\t5\n", NULL),
			 "device /dev/root mounted on /data with fstype ext4\ndevice tmpfs mounted on /x with fstype tmpfs\n");
}

Test(procfs, fdinfo)
{
	cr_assert_str_eq(shown("/proc/2/fdinfo/7",
			       "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1057\neventfd-count:                4\neventfd-id: 35\n", NULL),
			 "pos:\t0\nflags:\t02000002\nmnt_id:\t20\nino:\t0\neventfd-count:                4\neventfd-id: 0\n");
	cr_assert_str_eq(shown("/proc/2/fdinfo/8",
			       "pos:\t0\ntfd:        0 events:       19 data:                0  pos:0 ino:3d sdev:1\n"
			       "inotify wd:1 ino:1f sdev:800001 mask:ffffffff ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:1f00\n",
			       NULL),
			 "pos:\t0\ntfd: 0 events: 19 data: 0 pos:0 ino:3e8 sdev:10300000\n"
			 "inotify wd:1 ino:3e9 sdev:10300001 mask:ffffffff ignored_mask:0\n");
}

Test(procfs, locks)
{
	cr_assert_str_eq(shown("/proc/locks",
			       "1: POSIX  ADVISORY  WRITE 2 fe:00:1234 0 EOF\n2: FLOCK  ADVISORY  WRITE 888 fe:00:99 0 EOF\n"
			       "3: OFDLCK ADVISORY  READ -1 fe:00:98 0 EOF\n4: FLOCK  ADVISORY  WRITE 2 fe:00:1235 0 EOF\n",
			       NULL),
			 "1: POSIX ADVISORY WRITE 2 103:00:1000 0 EOF\n2: FLOCK ADVISORY WRITE 2 103:00:1001 0 EOF\n");
}

Test(procfs, sysvipc)
{
	cr_assert_str_eq(shown("/proc/sysvipc/sem",
			       "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n"
			       "         1          0   600          3     0     0     0     0          0 1785490000\n",
			       NULL),
			 "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n"
			 "         1          0   600          3     0     0     0     0          0          0\n");
}

Test(procfs, id_maps_show_nobody_outside)
{
	cr_assert_str_eq(shown("/proc/2/uid_map", "         0       1000          1\n         1     100000      65536\n", NULL),
			 "         0          0          1\n         1          1      65536\n");
}

Test(procfs, links)
{
	char pipe[64] = "pipe:[276017]", again[64] = "pipe:[276017]", other[64] = "socket:[276017]", net[64] = "net:[4026532500]";
	char file[64] = "/tmp/pipe:[5]", anonymous[64] = "anon_inode:[eventpoll]";

	cr_assert_eq(procfs_link(engine, pipe, sizeof(pipe)), 1);
	cr_assert_str_eq(pipe, "pipe:[1000]");
	cr_assert_eq(procfs_link(engine, again, sizeof(again)), 1);
	cr_assert_str_eq(again, pipe);
	cr_assert_eq(procfs_link(engine, other, sizeof(other)), 1);
	cr_assert_str_eq(other, "socket:[1001]");
	cr_assert_eq(procfs_link(engine, net, sizeof(net)), 1);
	cr_assert_str_eq(net, "net:[4026531840]");
	cr_assert_eq(procfs_link(engine, file, sizeof(file)), 0);
	cr_assert_eq(procfs_link(engine, anonymous, sizeof(anonymous)), 0);
}

Test(procfs, listings)
{
	struct dir_entry entries[] = {
		{ .name = "uptime" }, { .name = "10" }, { .name = "2" }, { .name = ".." }, { .name = "config.gz" }, { .name = "1" }, { .name = "." },
	};
	size_t n = sizeof(entries) / sizeof(entries[0]);

	cr_assert_eq(procfs_arrange(engine, "/proc", entries, &n), 0);
	cr_assert_eq(n, 5); /* 10 is not the guest's, config.gz not every kernel's */
	cr_assert_str_eq(entries[0].name, ".");
	cr_assert_str_eq(entries[1].name, "..");
	cr_assert_str_eq(entries[2].name, "1");
	cr_assert_str_eq(entries[3].name, "2");
	cr_assert_str_eq(entries[4].name, "uptime");
}

/* What the host's devices, file systems and modules add. */
static size_t listed(const char *directory, const char *first, const char *second)
{
	struct dir_entry entries[] = { { .name = "." }, { .name = ".." }, { .name = first }, { .name = second } };
	size_t n = sizeof(entries) / sizeof(entries[0]);

	cr_assert_eq(procfs_arrange(engine, directory, entries, &n), 0);
	return n - 2;
}

Test(procfs, listings_of_what_the_host_has)
{
	cr_assert_eq(listed("/proc/irq", "24", "default_smp_affinity"), 0);
	cr_assert_eq(listed("/proc/irq/24", "node", "ttyS0"), 0);
	cr_assert_eq(listed("/proc/bus/pci", "00", "devices"), 0);
	cr_assert_eq(listed("/proc/tty/driver", "serial", "usbserial"), 0);
	cr_assert_eq(listed("/proc/fs/ext4", "vda1", "vda2"), 0);
	cr_assert_eq(listed("/proc/sys/net", "ipv4", "bridge"), 1);
	cr_assert_eq(listed("/proc/sys/net", "netfilter", "mptcp"), 0);
	cr_assert_eq(listed("/proc/sys/fs", "xfs", "epoll"), 1);
	cr_assert_eq(listed("/proc/sys/fs", "file-max", "binfmt_misc"), 1);
	cr_assert_eq(listed("/proc/tty", "drivers", "driver"), 2);
	cr_assert_eq(listed("/proc/busy", "a", "b"), 2);
}

/* The same by name: how much of the path says what there is not. */
Test(procfs, names_that_are_not_listed)
{
	static const struct {
		const char *directory, *path;
		size_t hidden;
	} paths[] = {
		{ "/proc", "uptime", 0 },
		{ "/proc", "config.gz", 9 },
		{ "/proc", ".//config.gz/below", 12 },
		{ "/proc", "mdstat", 6 },
		{ "/proc", "kcore", 5 },
		{ "/proc", "irq/24/node", 3 },
		{ "/proc", "fs", 0 },
		{ "/proc", "fs/", 0 },
		{ "/proc", "fs/ext4/vda1", 7 },
		{ "/proc", "tty/driver/serial", 17 },
		{ "/proc", "self", 0 },
		{ "/proc", "self/status", 0 },
		{ "/proc", "self/no-such", 12 },
		{ "/proc", "thread-self/status", 0 },
		{ "/proc", "thread-self/no-such", 19 },
		{ "/proc", "2/no-such", 9 },
		{ "/proc", "77", 0 }, /* the kernel knows who is there */
		{ "/proc", "self/fd/9", 0 },
		{ "/proc", "self/root/irq", 0 },
		{ "/proc", "net/dev", 0 },
		{ "/proc", "sys/net/bridge/bridge-nf-call-iptables", 14 },
		{ "/proc", "sys/kernel/hostname", 0 },
		{ "/proc", "tty/../config.gz", 16 },
		{ "/proc", "tty/../uptime", 0 },
		{ "/proc", "self/../config.gz", 17 },
		{ "/proc", "thread-self/../../no-such", 25 },
		{ "/proc", "sys/kernel/../net/bridge", 24 },
		{ "/proc", "../proc/config.gz", 0 }, /* not gone by: out of /proc, and behind links */
		{ "/proc", "net/../config.gz", 0 },
		{ "/proc", "self/cwd/../irq", 0 },
		{ "/proc", "self/fd/3/../irq", 0 },
		{ "/proc/2", "../irq", 6 },
		{ "/proc/fs", "nfsd", 4 },
		{ "/proc/2", "no-such", 7 },
		{ "/proc/2/fd", "3", 0 },
		{ "/proc", "", 0 },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		cr_expect_eq(procfs_hidden(engine, engine->tasks, paths[i].directory, paths[i].path), paths[i].hidden, "%s of %s: %zu", paths[i].path,
			     paths[i].directory, procfs_hidden(engine, engine->tasks, paths[i].directory, paths[i].path));
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

Test(procfs, the_machine_is_one)
{
	cr_assert_str_eq(shown("/proc/uptime", "", NULL), "123.50 370.50\n");
	cr_assert_eq(count(shown("/proc/stat", "", NULL), "\ncpu"), 3);
	cr_assert_not_null(strstr(shown("/proc/stat", "", NULL), "\nbtime 1767225480\n")); /* 2026-01-01 less two minutes */
	cr_assert_not_null(strstr(shown("/proc/meminfo", "", NULL), "MemTotal:         976560 kB\n"));
	cr_assert_eq(count(shown("/proc/cpuinfo", "", NULL), "processor"), 3);
	cr_assert_str_eq(shown("/sys/devices/system/cpu/online", "", NULL), "0-2\n");
	cr_assert_str_eq(shown("/proc/sys/kernel/hostname", "", NULL), "hermit\n");
}

Test(procfs, random_numbers)
{
	char first[64], boot[64];

	(void)snprintf(first, sizeof(first), "%s", shown("/proc/sys/kernel/random/uuid", "", NULL));
	cr_assert_eq(strlen(first), 37);
	cr_assert_eq(first[14], '4');
	cr_assert_not_null(strchr("89ab", first[19]));
	cr_assert_str_neq(shown("/proc/sys/kernel/random/uuid", "", NULL), first);
	(void)snprintf(boot, sizeof(boot), "%s", shown("/proc/sys/kernel/random/boot_id", "", NULL));
	cr_assert_str_eq(shown("/proc/sys/kernel/random/boot_id", "", NULL), boot);
	end();
	begin();
	cr_assert_str_eq(shown("/proc/sys/kernel/random/uuid", "", NULL), first);
	cr_assert_str_eq(shown("/proc/sys/kernel/random/boot_id", "", NULL), boot);
}

/* lo, and one that the kernel calls 7, with a MAC that was drawn. */
static void know_links(void)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
		struct nlattr name;
		char name_text[8];
		struct nlattr mac;
		unsigned char mac_bytes[8];
	} links[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		links[i].header = (struct nlmsghdr){ .nlmsg_len = sizeof(links[i]), .nlmsg_type = RTM_NEWLINK };
		links[i].info = (struct ifinfomsg){ .ifi_type = i ? ARPHRD_ETHER : ARPHRD_LOOPBACK, .ifi_index = i ? 7 : 1 };
		links[i].name = (struct nlattr){ 4 + 5, IFLA_IFNAME };
		memcpy(links[i].name_text, i ? "eth0" : "lo\0\0", 5);
		links[i].mac = (struct nlattr){ 4 + 6, IFLA_ADDRESS };
	}
	memcpy(links[1].mac_bytes, (unsigned char[]){ 0x5e, 1, 2, 3, 4, 5 }, 6);
	(void)shown("/proc/2/net/igmp", "", NULL); /* the map exists from the first look on */
	cr_assert_eq(nl_map_fill(&engine->netlinks.map, links, sizeof(links)), 0);
}

/* However many processors the host has: one line for each of the machine that is shown, which has three. */
Test(procfs, counts_of_the_network)
{
	cr_expect_str_eq(shown("/proc/2/net/stat/rt_cache", "entries  in_hit   in_slow_tot\n00000007 0000000a 00000038   \n", NULL),
			 "entries  in_hit   in_slow_tot\n00000000 00000000 00000000   \n00000000 00000000 00000000   \n"
			 "00000000 00000000 00000000   \n");
	cr_expect_str_eq(shown("/proc/2/net/stat/synproxy", "entries\t\tsyn_received\n1\t2\n3\t4\n5\t6\n7\t8\n", NULL),
			 "entries\t\tsyn_received\n0\t0\n0\t0\n0\t0\n");
	cr_expect_str_eq(shown("/proc/2/net/stat/nothing", "", NULL), "");
	cr_expect_str_eq(shown("/proc/sys/net/ipv4/tcp_available_congestion_control", "reno bbr\n", NULL), "reno cubic\n");
	cr_expect_str_eq(shown("/proc/sys/fs/quota/lookups", "17\n", NULL), "0\n");
}

Test(procfs, what_links_have)
{
	know_links();
	cr_expect_str_eq(shown("/proc/2/net/igmp",
			       "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
			       "7\teth0      :     2      V3\n"
			       "\t\t\t\tFB0000E0     1 1:00000017\t\t0\n"
			       "\t\t\t\t010000E0     1 0:00000000\t\t1\n"
			       "1\tlo        :     1      V3\n"
			       "\t\t\t\t010000E0     1 0:00000000\t\t0\n",
			       NULL),
			 "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
			 "1\tlo        :     1      V3\n"
			 "\t\t\t\t010000E0     1 0:00000000\t\t0\n"
			 "2\teth0      :     2      V3\n"
			 "\t\t\t\t010000E0     1 0:00000000\t\t0\n"
			 "\t\t\t\tFB0000E0     1 0:00000000\t\t0\n");
	cr_expect_str_eq(shown("/proc/2/net/igmp6",
			       "7    eth0            ff0200000000000000000001ff030405     1 00000005 12\n"
			       "7    eth0            ff020000000000000000000000000001     1 0000000C 0\n"
			       "1    lo              ff020000000000000000000000000001     1 0000000C 0\n",
			       NULL),
			 "1    lo              ff020000000000000000000000000001     1 0000000C 0\n"
			 "2    eth0            ff020000000000000000000000000001     1 0000000C 0\n"
			 "2    eth0            ff0200000000000000000001ff000002     1 00000004 0\n");
	cr_expect_str_eq(shown("/proc/2/net/dev_mcast",
			       "7    eth0            1     0     3333ff030405\n7    eth0            1     0     01005e000001\n", NULL),
			 "2    eth0            1     0     01005e000001\n2    eth0            1     0     3333ff000002\n");
	cr_expect_str_eq(shown("/proc/2/net/mcfilter",
			       "Idx Device        MCA        SRC    INC    EXC\n  7   eth0 0xe0010101 0x0a000009      1      0\n", NULL),
			 "Idx Device        MCA        SRC    INC    EXC\n  2   eth0 0xe0010101 0x0a000009      1      0\n");
	/* two addresses of one link come in the order of a hash; the first is tentative */
	cr_expect_str_eq(shown("/proc/2/net/if_inet6",
			       "fe800000000000005c0102fffe030405 07 40 20 c0     eth0\n"
			       "fd000000000000000000000000000001 07 40 00 80     eth0\n"
			       "00000000000000000000000000000001 01 80 10 80       lo\n",
			       NULL),
			 "00000000000000000000000000000001 01 80 10 80       lo\n"
			 "fd000000000000000000000000000001 02 40 00 80     eth0\n"
			 "fe80000000000000000000fffe000002 02 40 20 80     eth0\n");
	cr_expect_str_eq(shown("/proc/2/net/ipv6_route",
			       "fe800000000000005c0102fffe030405 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 "
			       "00000003 00000009 80200001     eth0\n",
			       NULL),
			 "fe80000000000000000000fffe000002 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 "
			 "00000001 00000000 80200001     eth0\n");
}
