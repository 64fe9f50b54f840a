/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of `create` and `exec` have in common: filters, descriptors, terminal, pid file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "container/console.h"
#include "oci/arena.h"
#include "supervisor/oci/lifecycle_internal.h"
#include "supervisor/options/profile.h"
#include "supervisor/processor_view.h"

static int install_filters(void *arg)
{
	const struct filters *f = arg;
	int r = f->trap ? backend_filter_prepare(f->trap) : 0;

	if (r == 0 && f->profile)
		r = backend_profile_install(f->profile);
	return r < 0 || !f->trap ? r : backend_filter_install(f->trap);
}

int filters_make(struct filters *f, const struct oci_config *cfg, bool trapped, const struct run_options *o, struct error *err)
{
	bool tsc_faults = false;
	int r;

	r = profile_from_oci(&cfg->linux_.seccomp, trapped, &f->profile, err);
	if (r == 0 && trapped && !o->keep_instructions)
		r = processor_choose_tsc((enum run_tsc)o->tsc, &tsc_faults, err);
	if (r < 0 || !trapped)
		return r;
	f->trap = backend_filter_new(o->allow_uncontrolled, false, err);
	if (f->trap && tsc_faults)
		backend_filter_fault_tsc(f->trap);
	return f->trap ? 0 : -err->code;
}

void filters_free(struct filters *f)
{
	f->profile = backend_profile_free(f->profile);
	f->trap = backend_filter_free(f->trap);
}

void filters_use(struct filters *f, struct container_spec *spec)
{
	spec->install_filter = f->profile || f->trap ? install_filters : NULL;
	spec->filter_arg = f;
}

static unsigned listen_fds(void)
{
	const char *text = getenv("LISTEN_FDS");
	uint64_t n;

	return text && parse_u64(text, &n) == 0 && n < 1024 ? (unsigned)n : 0;
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

int add_variable(struct container_spec *spec, const char *text, struct oci_arena *arena, struct error *err)
{
	size_t n = 0;
	char **env;

	while (spec->envp && spec->envp[n])
		n++;
	env = oci_arena_array(arena, n + 2, sizeof(*env));
	if (!env)
		return no_memory(err);
	if (n > 0)
		memcpy(env, spec->envp, n * sizeof(*env));
	env[n] = oci_arena_strdup(arena, text);
	spec->envp = env;
	return env[n] ? 0 : no_memory(err);
}

int preserve_descriptors(struct container_spec *spec, unsigned preserve_fds, struct oci_arena *arena, struct error *err)
{
	unsigned listening = listen_fds();
	char text[32];
	int r;

	spec->preserve_fds = preserve_fds + listening;
	if (!listening)
		return 0;
	(void)snprintf(text, sizeof(text), "LISTEN_FDS=%u", listening);
	r = add_variable(spec, text, arena, err);
	return r < 0 ? r : add_variable(spec, "LISTEN_PID=1", arena, err);
}

static int write_pid_file(const char *path, pid_t pid, struct error *err)
{
	char text[16];
	int r;

	if (!path)
		return 0;
	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	r = fd_replace_file(path, text);
	return r < 0 ? error_errno(err, -r, "--pid-file: %s", path) : 0;
}

static int send_pidfd(const char *path, pid_t pid, struct error *err)
{
	_cleanup_close_ int fd = path ? pidfd_open(pid, 0) : -1;

	if (!path)
		return 0;
	return fd < 0 ? error_errno(err, errno, "--pidfd-socket") : console_send(path, "--pidfd-socket", "pidfd", fd, err);
}

int tell_pid(const struct process_request *request, pid_t pid, struct error *err)
{
	int r = send_pidfd(request->pidfd_socket, pid, err);

	return r < 0 ? r : write_pid_file(request->pid_file, pid, err);
}

int check_console(const struct process_request *request, bool terminal, struct error *err)
{
	if (!terminal && request->console_socket)
		return error_set(err, EINVAL, "cannot use a console socket for a process without a terminal");
	if (terminal && !request->console_socket && !request->attached)
		return error_set(err, EINVAL, "cannot allocate a terminal without a console socket: use --console-socket, or do not detach");
	return 0;
}

int hand_over_console(struct container *c, const struct process_request *request, int *ret_console_fd, struct error *err)
{
	int r = 0;

	*ret_console_fd = -1;
	if (c->console_fd < 0)
		return 0;
	if (request->console_socket)
		r = console_send(request->console_socket, "console socket", "/dev/ptmx", c->console_fd, err);
	else
		*ret_console_fd = take_fd(&c->console_fd);
	cleanup_close(&c->console_fd);
	c->console_fd = -1;
	return r;
}
