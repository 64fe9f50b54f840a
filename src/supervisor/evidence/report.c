/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports on runs: see report.h. */
#include "supervisor/evidence/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "config.h"
#include "engine/policy/policy.h"
#include "supervisor/json_text.h"

static const char *const class_names[] = {
	[CLASS_UNLISTED] = "unlisted", [CLASS_PASS] = "pass",	    [CLASS_ORDER] = "order",
	[CLASS_FIXUP] = "fixup",       [CLASS_EMULATE] = "emulate", [CLASS_REFUSE] = "refuse",
};

static bool ended_by_signal(const struct run_result *result)
{
	return result->end == RUN_EXITED && WIFSIGNALED(result->wait_status);
}

const char *run_end_name(const struct run_result *result)
{
	static const char *const names[] = {
		[RUN_EXITED] = "exited",   [RUN_DEADLOCK] = "deadlock", [RUN_REFUSED] = "refused",
		[RUN_TIMEOUT] = "timeout", [RUN_KILLED] = "killed",
		[RUN_MISFIT] = "misfit",   [RUN_STOPPED] = "stopped",
	};

	if (ended_by_signal(result))
		return "signal";
	return (size_t)result->end < ARRAY_SIZE(names) && names[result->end] ? names[result->end] : "failed";
}

const char *run_end_words(const struct run_result *result, char buf[RUN_END_WORDS_SIZE])
{
	int signo = WTERMSIG(result->wait_status);
	const char *name = sigabbrev_np(signo);

	if (!ended_by_signal(result))
		return run_end_name(result);
	(void)snprintf(buf, RUN_END_WORDS_SIZE, "killed by signal %d%s%s%s", signo, name ? " (SIG" : "", name ?: "", name ? ")" : "");
	return buf;
}

static uint64_t count_calls(const struct engine_stats *stats, uint64_t by_class[ARRAY_SIZE(class_names)])
{
	uint64_t total = 0;

	for (size_t i = 0; i < ARRAY_SIZE(stats->calls); i++) {
		by_class[policy_row((int64_t)i)->class] += stats->calls[i];
		total += stats->calls[i];
	}
	return total;
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *calls_to_json(const struct engine_stats *stats)
{
	uint64_t by_class[ARRAY_SIZE(class_names)] = { 0 };
	json_t *classes = json_object(), *names = json_object();
	uint64_t total = count_calls(stats, by_class);

	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
		if (by_class[i])
			(void)json_object_set_new(classes, class_names[i], number(by_class[i]));
	for (size_t i = 0; i < ARRAY_SIZE(stats->calls); i++) {
		char unknown[24];
		const char *name = policy_row((int64_t)i)->name;

		if (!stats->calls[i])
			continue;
		(void)snprintf(unknown, sizeof(unknown), "call %zu", i);
		(void)json_object_set_new(names, name ? name : unknown, number(stats->calls[i]));
	}
	return json_pack("{s:o, s:o, s:o}", "total", number(total), "by_class", classes, "by_name", names);
}

/* What code that is made at run time finds out about the host. */
static const char *not_covered(const struct run_report *report)
{
	if (report->options->keep_instructions)
		return "all of them: they were left as they are";
	if (!report->result->stats.generated)
		return "";
	return report->result->tsc_faults ? "CPUID, RDRAND and their like in code made at run time" :
					    "RDTSC, CPUID, RDRAND and their like in code made at run time";
}

static const char *tsc_way(const struct run_report *report)
{
	if (report->options->keep_instructions)
		return "none";
	return report->result->tsc_faults ? "faults" : "replaced";
}

static json_t *instructions_to_json(const struct run_report *report)
{
	const struct engine_stats *stats = &report->result->stats;
	json_t *traps = json_object();

	for (int i = 0; i < INSN_KIND_COUNT; i++)
		if (stats->traps[i])
			(void)json_object_set_new(traps, insn_kind_name(i), number(stats->traps[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s}", "carried_out", traps, "replaced", number(stats->replaced), "unsure",
			 number(stats->unsure), "generated_code", number(stats->generated), "tsc", tsc_way(report), "not_covered",
			 not_covered(report));
}

static json_t *preemption_to_json(const struct run_result *result)
{
	const struct engine_stats *stats = &result->stats;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "inside_code", number(stats->preemptions), "instructions_stepped",
			 number(stats->instructions), "places_passed", number(stats->places), "places", number(result->preempt_cost.placed),
			 "places_given_up", number(result->preempt_cost.retired), "real_ns", number(result->preempt_cost.real_ns));
}

static json_t *faults_to_json(const struct run_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->options->faults.count && i < FAULTS_MAX; i++)
		(void)json_array_append_new(list, json_pack("{s:o, s:o}", "fault", json_text(report->options->faults.items[i]), "struck",
							    number(report->result->stats.faults[i])));
	return list;
}

/* What was left out so that all kernels say the same is counted: attributes and messages that no rule knows. */
static json_t *netlink_to_json(const struct nl_counters *netlink)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "messages", number(netlink->messages), "hidden_messages",
			 number(netlink->hidden_messages), "unknown_messages", number(netlink->unknown_messages), "attributes",
			 number(netlink->attributes), "unknown_attributes", number(netlink->unknown_attributes), "malformed",
			 number(netlink->malformed));
}

static json_t *uncontrolled_to_json(const struct tally *tally)
{
	json_t *list = json_array();

	for (size_t i = 0; i < tally->n; i++)
		(void)json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "what", json_text(tally->items[i].what), "where",
							    json_text(tally->items[i].where), "count", number(tally->items[i].count)));
	return list;
}

static json_t *status_to_json(const struct run_result *result)
{
	if (result->end != RUN_EXITED)
		return json_pack("{s:i}", "exit_code", result->exit_code);
	if (WIFSIGNALED(result->wait_status))
		return json_pack("{s:i, s:i}", "exit_code", result->exit_code, "signal", WTERMSIG(result->wait_status));
	return json_pack("{s:i, s:i}", "exit_code", result->exit_code, "status", WEXITSTATUS(result->wait_status));
}

char *report_to_json(const struct run_report *report)
{
	_cleanup_free_ char *command = run_options_command_line(report->options);
	const struct run_result *result = report->result;
	const struct engine_stats *stats = &result->stats;
	char fingerprint[HASH_HEX_SIZE];
	char *text = NULL;
	json_t *root;

	if (!command || run_options_fingerprint(report->options, fingerprint) < 0)
		return NULL;
	root = json_pack("{s:s, s:i, s:s, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format",
			 "hermit-run-report", "version", 1, "tool", PACKAGE_VERSION, "command", json_text(command), "config", fingerprint,
			 "seed", number(report->options->seed), "end", run_end_name(result), "guest", status_to_json(result),
			 "turns", number(result->turns), "virtual_ns", number(result->virtual_ns), "real_ns",
			 number(result->real_ns), "calls", calls_to_json(stats), "instructions",
			 instructions_to_json(report), "switches", number(stats->switches), "preemption",
			 preemption_to_json(result), "faults", faults_to_json(report), "signals",
			 number(stats->signals), "births", number(stats->births), "execs", number(stats->execs), "deaths",
			 number(stats->deaths), "netlink", netlink_to_json(&stats->netlink), "uncontrolled", uncontrolled_to_json(report->uncontrolled));
	if (root && report->image && json_object_set_new(root, "image", json_text(report->image)) < 0)
		root = (json_decref(root), NULL);
	if (root)
		text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	return text;
}

/* The most frequent calls, at most `most` of them, most frequent first; equal ones by number. */
static void print_top_calls(FILE *f, const struct engine_stats *stats, size_t most)
{
	bool printed[ARRAY_SIZE(stats->calls)] = { false };

	for (size_t k = 0; k < most; k++) {
		size_t best = ARRAY_SIZE(stats->calls);

		for (size_t i = 0; i < ARRAY_SIZE(stats->calls); i++)
			if (!printed[i] && stats->calls[i] && (best == ARRAY_SIZE(stats->calls) || stats->calls[i] > stats->calls[best]))
				best = i;
		if (best == ARRAY_SIZE(stats->calls))
			break;
		printed[best] = true;
		(void)fprintf(f, "%s%s %" PRIu64, k ? ", " : "", policy_row((int64_t)best)->name ?: "unknown", stats->calls[best]);
	}
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_instructions(FILE *f, const struct run_report *report)
{
	const struct engine_stats *stats = &report->result->stats;
	const char *rest = not_covered(report);
	uint64_t total = 0;

	for (int i = 0; i < INSN_KIND_COUNT; i++)
		total += stats->traps[i];
	(void)fprintf(f, "\n  instructions  %" PRIu64 " carried out; %" PRIu64 " places replaced, %" PRIu64 " left alone as perhaps data",
		      total, stats->replaced, stats->unsure);
	(void)fprintf(f, "; RDTSC %s\n", report->options->keep_instructions ? "as it is" : tsc_way(report));
	if (*rest)
		(void)fprintf(f, "  not covered   %s\n", rest);
}

static void print_preemption(FILE *f, const struct run_report *report)
{
	const struct run_result *result = report->result;
	char real[FORMAT_SIZE];

	(void)fprintf(f, "  preemption    %" PRIu64 " turns ended inside code; %" PRIu64 " instructions stepped, %" PRIu64
			 " places passed (%" PRIu64 " watched, %" PRIu64 " given up), of %" PRIu64 "; %s s\n",
		      result->stats.preemptions, result->stats.instructions, result->stats.places, result->preempt_cost.placed,
		      result->preempt_cost.retired, report->options->preempt_budget,
		      format_duration_ns(result->preempt_cost.real_ns / 1000000 * 1000000, real));
}

void report_print(FILE *f, const struct run_report *report)
{
	const struct run_result *result = report->result;
	uint64_t by_class[ARRAY_SIZE(class_names)] = { 0 };
	uint64_t calls = count_calls(&result->stats, by_class);
	_cleanup_free_ char *command = run_options_command_line(report->options);
	char fingerprint[HASH_HEX_SIZE], text[FORMAT_SIZE], real[FORMAT_SIZE], end[RUN_END_WORDS_SIZE];

	(void)fprintf(f, "summary: %s, exit status %d\n", run_end_words(result, end), result->exit_code);
	if (report->image)
		(void)fprintf(f, "  image         %s\n", report->image);
	(void)fprintf(f, "  turns         %" PRIu64 ", %" PRIu64 " change%s of thread\n", result->turns, result->stats.switches,
		      plural(result->stats.switches));
	(void)fprintf(f, "  virtual time  %s s\n", format_duration_ns(result->virtual_ns, text));
	(void)fprintf(f, "  real time     %s s\n", format_duration_ns(result->real_ns / 1000000 * 1000000, real));
	(void)fprintf(f, "  calls         %" PRIu64, calls);
	(void)fputs(calls ? ": " : "", f);
	print_top_calls(f, &result->stats, 5);
	print_instructions(f, report);
	if (result->stats.instructions || result->stats.places)
		print_preemption(f, report);
	(void)fprintf(f, "  threads       %" PRIu64 " birth%s, %" PRIu64 " death%s, %" PRIu64 " program%s, %" PRIu64 " signal%s\n",
		      result->stats.births, plural(result->stats.births), result->stats.deaths, plural(result->stats.deaths),
		      result->stats.execs, plural(result->stats.execs), result->stats.signals, plural(result->stats.signals));
	if (result->stats.netlink.messages)
		(void)fprintf(f, "  netlink       %" PRIu64 " messages, %" PRIu64 " attributes; left out as unknown: %" PRIu64 " and %" PRIu64 "\n",
			      result->stats.netlink.messages, result->stats.netlink.attributes, result->stats.netlink.unknown_messages,
			      result->stats.netlink.unknown_attributes);
	(void)fprintf(f, "  uncontrolled  %" PRIu64 "\n", tally_total(report->uncontrolled));
	for (size_t i = 0; i < report->uncontrolled->n; i++)
		(void)fprintf(f, "    %s: %s, %" PRIu64 " time%s\n", report->uncontrolled->items[i].what, report->uncontrolled->items[i].where,
			      report->uncontrolled->items[i].count, report->uncontrolled->items[i].count == 1 ? "" : "s");
	if (run_options_fingerprint(report->options, fingerprint) == 0)
		(void)fprintf(f, "  configuration %.16s\n", fingerprint);
	(void)fprintf(f, "  again         %s\n", command ? command : "");
}
