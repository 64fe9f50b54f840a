/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program in a container made by container/ alone: no supervisor, no filter. For tests/integration/container.sh.
 *
 *   container_probe [OPTION...] PROGRAM [ARG...]
 *     --cow-cwd --private-tmp --direct --pid1 --terminal --network-host   the fields of struct container_spec
 *     --writable=PATH (repeatable) --overlay=DIR --root=DIR --cow-root --cwd=DIR --uid=N
 *     --bundle=DIR  everything from DIR/config.json; PROGRAM is not given
 *     --cgroup=ID   with --bundle: in cgroups of linux.cgroupsPath and with linux.resources
 *     --inside=PID  one more process in the container of that process
 *     --protected   run from a sealed copy of this program
 *     --deny=NUMBER:ERRNO  as under a launcher whose filter refuses this system call
 *     --hold      do not release the guest: print "held GUEST-PID INIT-PID" and sleep
 *     --setup-only  create and destroy, print the microseconds that took
 * Exit status: the guest's, as a shell shows it; 125 to 127 with a message when it could not be started.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "container/cgroup.h"
#include "container/container.h"
#include "container/from_oci.h"
#include "container/protect.h"
#include "oci/config.h"

enum { MAX_WRITABLE = 8 };

struct options {
	struct container_spec spec;
	const char *bundle, *cgroup_id;
	pid_t inside;
	struct cgroup *cgroup;
	struct oci_config config;
	struct container_bundle description;
	char *writable[MAX_WRITABLE];
	bool hold, setup_only, protected;
};

/* Refuses one system call for this process and its children. */
static int deny(unsigned number, unsigned code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

static const char *value_of(const char *argument, const char *name)
{
	size_t len = strlen(name);

	return strncmp(argument, name, len) == 0 && argument[len] == '=' ? argument + len + 1 : NULL;
}

static bool set_flag(struct options *o, const char *argument)
{
	const struct {
		const char *name;
		bool *field;
	} flags[] = {
		{ "--cow-cwd", &o->spec.cow_cwd },
		{ "--private-tmp", &o->spec.private_tmp },
		{ "--terminal", &o->spec.terminal },
		{ "--network-host", &o->spec.network_host },
		{ "--cow-root", &o->spec.root_cow },
		{ "--read-only", &o->spec.root_readonly },
		{ "--hold", &o->hold },
		{ "--setup-only", &o->setup_only },
		{ "--protected", &o->protected },
		{ "--no-new-privs", &o->spec.no_new_privs },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(argument, flags[i].name) == 0) {
			*flags[i].field = true;
			return true;
		}
	return false;
}

static bool set_value(struct options *o, char *argument)
{
	const char *value;

	if ((value = value_of(argument, "--writable")) && o->spec.n_writable < MAX_WRITABLE)
		o->writable[o->spec.n_writable++] = argument + (value - argument);
	else if ((value = value_of(argument, "--inside")))
		o->inside = (pid_t)strtol(value, NULL, 10);
	else if ((value = value_of(argument, "--deny")))
		return deny((unsigned)strtoul(value, NULL, 10), (unsigned)strtoul(strchr(value, ':') + 1, NULL, 10)) ==
		       0;
	else if ((value = value_of(argument, "--cgroup")))
		o->cgroup_id = value;
	else if ((value = value_of(argument, "--bundle")))
		o->bundle = value;
	else if ((value = value_of(argument, "--overlay")))
		o->spec.overlay_dir = value;
	else if ((value = value_of(argument, "--cwd")))
		o->spec.cwd = value;
	else if ((value = value_of(argument, "--uid"))) {
		o->spec.set_user = true;
		o->spec.uid = o->spec.gid = (uid_t)strtoul(value, NULL, 10);
	} else if ((value = value_of(argument, "--root"))) {
		o->spec.root_kind = ROOT_PATH;
		o->spec.root_path = value;
	} else {
		return false;
	}
	return true;
}

static int parse(struct options *o, int argc, char **argv)
{
	int i;

	container_spec_init(&o->spec);
	o->spec.writable = o->writable;
	for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--direct") == 0)
			o->spec.root_kind = ROOT_HOST_DIRECT;
		else if (strcmp(argv[i], "--pid1") == 0)
			o->spec.own_init = false;
		else if (!set_flag(o, argv[i]) && !set_value(o, argv[i]))
			return -EINVAL;
	}
	o->spec.argv = argv + i;
	return i < argc || o->bundle ? 0 : -EINVAL;
}

static int load_bundle(struct options *o, struct error *err)
{
	char path[4096];
	int r;

	(void)snprintf(path, sizeof(path), "%s/config.json", o->bundle);
	r = oci_config_load(AT_FDCWD, path, &o->config, err);
	if (r < 0)
		return r;
	r = container_from_oci(&o->config, o->bundle, &o->description, err);
	if (r == 0)
		o->spec = o->description.spec;
	return r;
}

static int make_cgroup(struct options *o, struct error *err)
{
	int r;

	if (!o->cgroup_id)
		return 0;
	r = cgroup_create(o->config.linux_.cgroups_path, o->cgroup_id, &o->cgroup, err);
	if (r < 0)
		return r;
	o->spec.cgroup_procs = cgroup_procs_files(o->cgroup);
	return cgroup_apply(o->cgroup, &o->config.linux_.resources, err);
}

/* As `container_probe: MESSAGE` on stderr; returns status. */
static int complain(const struct error *err, int status)
{
	(void)fprintf(stderr, "container_probe: %s\n", err->text);
	return status;
}

static int shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The status of the guest from the records of process 1, or from waiting for it where it is process 1. */
static int wait_guest(struct container *c)
{
	struct pollfd end = { .fd = c->reaped_fd, .events = POLLIN };
	struct container_reaped record;
	int status;

	if (c->reaped_fd < 0) {
		if (waitpid(c->init_pid, &status, 0) != c->init_pid)
			return 125;
		c->init_pid = 0;
		return shell_status(status);
	}
	while (poll(&end, 1, -1) > 0 && read(c->reaped_fd, &record, sizeof(record)) == sizeof(record))
		if (record.pid == CONTAINER_GUEST_PID)
			return shell_status(record.status);
	return 125;
}

static void relay_terminal(int master)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(master, buf, sizeof(buf))) > 0)
		if (fd_write_full(STDOUT_FILENO, buf, (size_t)n) < 0)
			return;
}

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int run(struct options *o, struct container *c)
{
	struct error err = { 0 };
	int status;

	if (o->hold) {
		(void)printf("held %d %d\n", c->guest_pid, c->init_pid);
		(void)fflush(stdout);
		(void)pause();
	}
	if (container_release(c, &err) < 0)
		(void)complain(&err, 0);
	if (c->console_fd >= 0)
		relay_terminal(c->console_fd);
	status = wait_guest(c);
	if (container_exec_error(c, &err) > 0)
		(void)complain(&err, 0);
	return status;
}

static int create_and_run(struct options *o)
{
	uint64_t start = now_us();
	struct container c;
	struct error err = { 0 };
	int status = 0;

	if ((!o->inside && container_enter_userns(&err) < 0) || (o->bundle && load_bundle(o, &err) < 0) ||
	    make_cgroup(o, &err) < 0)
		return complain(&err, 125);
	if ((o->inside ? container_create_inside(&o->spec, o->inside, &c, &err)
		       : container_create(&o->spec, &c, &err)) < 0)
		return complain(&err, c.failure_status);
	if (!o->setup_only)
		status = run(o, &c);
	container_destroy(&c);
	if (o->setup_only)
		(void)printf("%llu\n", (unsigned long long)(now_us() - start));
	return status;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct error err = { 0 };
	int status;

	if (parse(&o, argc, argv) < 0) {
		(void)fprintf(stderr, "usage: container_probe [OPTION...] PROGRAM [ARG...]\n");
		return 2;
	}
	if (o.protected && container_protect_program(argv, &err) < 0)
		return complain(&err, 125);
	o.spec.envp = environ;
	status = create_and_run(&o);
	if (o.cgroup && cgroup_remove(o.cgroup, &err) < 0)
		status = complain(&err, 125);
	cgroup_free(o.cgroup);
	container_bundle_free(&o.description);
	oci_config_free(&o.config);
	return status;
}
