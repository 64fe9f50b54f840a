/* SPDX-License-Identifier: BSD-3-Clause */
/* The probes, what they mean, and the report: see doctor.h. */
#include "supervisor/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/doctor/probes.h"
#include "supervisor/json_text.h"

/* Not what a probe needs, but what one that hangs gets: a busy host is no reason to say that something is missing. */
enum { PROBE_LIMIT_MS = 30000 };

static const struct probe probes[] = {
	{ "listener", "seccomp user notification", true, probe_listener,
	  { [PROBE_WORKS] = "system calls can be decided outside of the program",
	    [PROBE_MISSING] = "there is nothing to build a run on: the kernel has no seccomp user notification (it came with Linux "
			      "5.0), a filter of this container or service refuses seccomp(2), or this is inside of a hermit run already" } },
	{ "continue", "letting a call through", true, probe_continue,
	  { [PROBE_MISSING] = "calls could only be answered, not let through: Linux 5.5 or newer is needed" } },
	{ "wait-killable", "calls that are being decided are not disturbed by signals", true, probe_wait_killable,
	  { [PROBE_WORKS] = "a signal waits until a call is decided",
	    [PROBE_MISSING] = "signals would break off calls at moments that nobody decides: Linux 5.19 or newer is needed" } },
	{ "fast-reply", "a quick answer wins against a signal", false, probe_fast_reply,
	  { [PROBE_WORKS] = "the kernel has the correction of 2025 for replies that come before the caller has gone to sleep",
	    [PROBE_PARTLY] = "this kernel can break off a call that was already answered; a run avoids it by never queueing a "
			     "signal while a call is open, so only signals from outside can meet it" } },
	{ "sync-wake-up", "waking the other side on the same processor", false, probe_sync_wake_up,
	  { [PROBE_WORKS] = "hand-overs between program and supervisor are as cheap as they get",
	    [PROBE_MISSING] = "hand-overs cost a little more (this came with Linux 6.6); results are the same" } },
	{ "addfd", "putting descriptors into the program", true, probe_addfd,
	  { [PROBE_MISSING] = "files cannot be opened in the program's place: Linux 5.9 or newer is needed" } },
	{ "addfd-send", "putting a descriptor in and answering in one step", true, probe_addfd_send,
	  { [PROBE_MISSING] = "a descriptor and its answer could be torn apart: Linux 5.14 or newer is needed" } },
	{ "ptrace", "seizing a process", true, probe_ptrace,
	  { [PROBE_WORKS] = "births, deaths and program starts are seen at exact points",
	    [PROBE_MISSING] = "threads cannot be held before their first instruction; a seccomp profile, Yama or a container without "
			      "CAP_SYS_PTRACE forbids it" } },
	{ "hook", "a stop between a call's return and the program", true, probe_hook,
	  { [PROBE_WORKS] = "results of calls that the kernel makes can be put in order",
	    [PROBE_MISSING] = "results of calls that the kernel makes cannot be put in order" } },
	{ "pidfd-getfd", "borrowing descriptors", true, probe_pidfd_getfd,
	  { [PROBE_MISSING] = "the supervisor cannot ask whether a pipe or socket is ready: Linux 5.6 or newer and permission to "
			      "trace are needed" } },
	{ "memory-calls", "the program's memory by process_vm_readv and process_vm_writev", true, probe_memory_calls,
	  { [PROBE_MISSING] = "arguments and results of calls cannot be read and written" } },
	{ "memory-file", "the program's memory by /proc/PID/mem", true, probe_memory_file,
	  { [PROBE_PARTLY] = "pages that the program cannot write itself cannot be written: code that reads clocks and "
			     "instructions in place cannot be replaced",
	    [PROBE_MISSING] = "/proc is not mounted, or hides processes" } },
	{ "vdso", "replacing the kernel's own code in the program (vDSO)", false, probe_vdso,
	  { [PROBE_WORKS] = "clocks and random numbers that are read without a system call are under control",
	    [PROBE_MISSING] = "programs that read clocks through the vDSO see the host's time: not under control" } },
	{ "namespaces", "namespaces for processes, mounts, network, names", true, probe_namespaces,
	  { [PROBE_MISSING] = "no container can be made" } },
	{ "user-namespaces", "namespaces for users, as an ordinary user", false, probe_user_namespaces,
	  { [PROBE_WORKS] = "no root is needed for a run",
	    [PROBE_MISSING] = "only root can make a run" } },
	{ "overlay", "copy-on-write file systems", false, probe_overlay,
	  { [PROBE_WORKS] = "a run does not change the host's files, except where it is told to",
	    [PROBE_MISSING] = "only --fs=host works, with which a run changes the host's files and so its own input" } },
	{ "cgroups", "control groups", false, probe_cgroups,
	  { [PROBE_PARTLY] = "limits of an OCI bundle go through the older version, or partly",
	    [PROBE_MISSING] = "limits of an OCI bundle cannot be set; runs do not need them" } },
	{ "tsc-trap", "trapping RDTSC", false, probe_tsc,
	  { [PROBE_WORKS] = "the processor's clock is under control wherever it is read",
	    [PROBE_PARTLY] = "the kernel says that RDTSC traps, but it does not: it is replaced where code is mapped; code made at run "
			     "time is not under control",
	    [PROBE_MISSING] = "RDTSC is replaced where code is mapped; code made at run time is not under control" } },
	{ "cpuid-trap", "trapping CPUID", false, probe_cpuid,
	  { [PROBE_WORKS] = "it could be trapped, but CPUID is replaced where code is mapped; code made at run time sees this processor",
	    [PROBE_PARTLY] = "the kernel says that CPUID traps, but it does not: it is replaced where code is mapped",
	    [PROBE_MISSING] = "CPUID is replaced where code is mapped; code made at run time sees this processor" } },
	{ "counters", "hardware counters", false, probe_counters,
	  { [PROBE_WORKS] = "instructions can be counted; a run does not need it",
	    [PROBE_PARTLY] = "the counters can be opened but do not count exactly, as in many virtual machines; a run does not need "
			     "them",
	    [PROBE_MISSING] = "there are none, or they are not for this user, as in most virtual machines; a run does not need "
			      "them" } },
};

const struct probe *doctor_probes(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(probes);
	return probes;
}

enum probe_result probe_says(enum probe_result result, char *detail, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(detail, size, format, ap);
	va_end(ap);
	return result;
}

/* ---- one probe, in a process group of its own ---- */

struct answer {
	enum probe_result result;
	char detail[PROBE_DETAIL_SIZE];
};

__attribute__((noreturn)) static void probe_child(const struct probe *probe, int to)
{
	struct answer answer = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpgid(0, 0);
	answer.result = probe->run(answer.detail, sizeof(answer.detail));
	_exit(fd_write_full(to, &answer, sizeof(answer)) < 0);
}

static bool answer_arrives(int fd, struct answer *answer)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&poll_fd, 1, PROBE_LIMIT_MS);
	} while (n < 0 && errno == EINTR);
	return n == 1 && fd_read_full(fd, answer, sizeof(*answer)) == (ssize_t)sizeof(*answer);
}

void doctor_probe(const struct probe *probe, struct finding *ret)
{
	_cleanup_close_ int from = -1, to = -1;
	struct answer answer = { 0 };
	int ends[2], status;
	pid_t child;

	*ret = (struct finding){ .probe = probe };
	if (pipe2(ends, O_CLOEXEC) < 0) {
		(void)probe_says(PROBE_FAILED, ret->detail, sizeof(ret->detail), "no pipe: %s", strerrordesc_np(errno));
		return;
	}
	from = ends[0];
	to = ends[1];
	child = fork();
	if (child == 0)
		probe_child(probe, to);
	cleanup_close(&to);
	to = -1;
	if (child > 0)
		(void)setpgid(child, child);
	if (child < 0 || !answer_arrives(from, &answer))
		(void)probe_says(PROBE_FAILED, answer.detail, sizeof(answer.detail), "the probe did not come to an end");
	if (child > 0) {
		(void)kill(-child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	ret->result = answer.result;
	memcpy(ret->detail, answer.detail, sizeof(ret->detail));
	ret->detail[sizeof(ret->detail) - 1] = '\0';
}

/* Whether a run could do without. What works partly is enough. */
static bool is_enough(const struct finding *finding)
{
	return !finding->probe->required || finding->result == PROBE_WORKS || finding->result == PROBE_PARTLY;
}

int doctor_run(struct doctor_report *report, struct error *err)
{
	*report = (struct doctor_report){ .findings = calloc(ARRAY_SIZE(probes), sizeof(*report->findings)), .possible = true };
	if (!report->findings)
		return error_errno(err, ENOMEM, "doctor");
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		doctor_probe(&probes[i], &report->findings[i]);
		report->n++;
		report->possible = report->possible && is_enough(&report->findings[i]);
	}
	return 0;
}

void doctor_report_clear(struct doctor_report *report)
{
	free(report->findings);
	*report = (struct doctor_report){ 0 };
}

/* ---- the report ---- */

static const char *const result_words[PROBE_RESULTS] = {
	[PROBE_FAILED] = "unknown",
	[PROBE_WORKS] = "works",
	[PROBE_PARTLY] = "partly",
	[PROBE_MISSING] = "missing",
};

static void print_finding(const struct finding *f, FILE *to)
{
	const char *meaning = f->probe->meaning[f->result];

	(void)fprintf(to, "%-8s %s: %s%s%s%s\n", result_words[f->result], f->probe->name, f->probe->title, f->detail[0] ? " (" : "", f->detail,
		      f->detail[0] ? ")" : "");
	if (meaning)
		(void)fprintf(to, "         %s\n", meaning);
}

void doctor_print(const struct doctor_report *report, FILE *to)
{
	for (size_t i = 0; i < report->n; i++)
		print_finding(&report->findings[i], to);
	if (report->possible) {
		(void)fprintf(to, "\nA run is possible on this host.\n");
		return;
	}
	(void)fprintf(to, "\nA run is not possible on this host. Missing:\n");
	for (size_t i = 0; i < report->n; i++)
		if (!is_enough(&report->findings[i]))
			(void)fprintf(to, "  %s: %s\n", report->findings[i].probe->name, report->findings[i].probe->title);
}

static json_t *finding_to_json(const struct finding *f)
{
	const char *meaning = f->probe->meaning[f->result];

	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:s}", "name", f->probe->name, "title", f->probe->title, "result",
			 result_words[f->result], "required", f->probe->required, "detail", json_text(f->detail), "meaning",
			 meaning ? meaning : "");
}

char *doctor_to_json(const struct doctor_report *report)
{
	json_t *findings = json_array(), *document;
	char *text;

	for (size_t i = 0; i < report->n; i++)
		if (json_array_append_new(findings, finding_to_json(&report->findings[i])) < 0) {
			json_decref(findings);
			return NULL;
		}
	document = json_pack("{s:s, s:i, s:b, s:o}", "format", "hermit-doctor", "version", 1, "possible", report->possible,
			     "findings", findings);
	text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
	json_decref(document);
	return text;
}

static void log_missing(const struct finding *f)
{
	const char *meaning = f->probe->meaning[f->result];

	log_error("missing: %s%s%s%s%s%s", f->probe->title, f->detail[0] ? " (" : "", f->detail, f->detail[0] ? ")" : "",
		  meaning ? ": " : "", meaning ? meaning : "");
}

bool doctor_log_inside(void)
{
	static const struct probe probe = { .name = "inside", .title = "not supervised yet", .run = probe_unsupervised };
	struct finding finding;

	doctor_probe(&probe, &finding);
	if (finding.result == PROBE_MISSING)
		log_error("this is inside of a hermit run already, or of another supervisor that decides about system calls (seccomp user "
			  "notification): Linux allows one only; run it outside");
	return finding.result == PROBE_MISSING;
}

void doctor_log_missing(void)
{
	struct finding finding;

	if (doctor_log_inside())
		return;
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!probes[i].required)
			continue;
		doctor_probe(&probes[i], &finding);
		if (!is_enough(&finding))
			log_missing(&finding);
	}
}
