/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exit statuses of both programs, the only list of them: the table EXIT STATUS of hermit(1) is checked against it. A
 * guest that ends by itself gives its own status; 128 + n says that signal n ended it, as a shell would.
 */
#ifndef HS_SUPERVISOR_EXIT_CODES_H
#define HS_SUPERVISOR_EXIT_CODES_H

/* clang-format off */
#define EXIT_CODE_TABLE(X) \
	X(STOPPED,       118, "the turn of --stop-at-turn was reached") \
	X(MISFIT,        119, "the program does not fit the schedule of --replay-schedule") \
	X(DEADLOCK,      120, "no task of the guest can ever go on") \
	X(REFUSED,       121, "refused under --strict: the guest wanted something that is not modelled") \
	X(UNCONTROLLED,  122, "under --strict something happened that the run did not control") \
	X(DIFFERENCE,    123, "a verification found a difference between two runs") \
	X(TIMEOUT,       124, "the time limit of --timeout is over") \
	X(TOOL,          125, "the tool itself failed, or was called wrongly") \
	X(NOT_EXECUTABLE, 126, "the program exists but cannot be executed") \
	X(NOT_FOUND,     127, "there is no such program") \
	X(SIGNAL_BASE,   128, "plus n: signal n ended the program")
/* clang-format on */

enum exit_code {
#define EXIT_CODE_ROW(name, number, text) EXIT_CODE_##name = (number),
	EXIT_CODE_TABLE(EXIT_CODE_ROW)
#undef EXIT_CODE_ROW
};

#endif
