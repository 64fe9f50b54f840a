/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of hermit ci share: ci.c (its stages), ci_files.c (where everything is), ci_report.c (what is said). */
#ifndef HS_SUPERVISOR_CI_INTERNAL_H
#define HS_SUPERVISOR_CI_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "supervisor/explore/ci.h"
#include "supervisor/explore/explore.h"

enum { CI_PATH_SIZE = 4096 };

struct ci {
	const struct ci_request *request;
	const char *suite;
	char *command;
	char scratch[CI_PATH_SIZE]; /* where everything is until the runs are over: a guest may look at the artifacts' directory */
	/* The verification. */
	bool equal, different;
	int status; /* what verify_main() has returned, and then the step's */
	json_t *verdict;
	char *why; /* what is to be said of runs that are not equal; "" when they are */
	/* The exploration; nothing in it when there was none. */
	bool explored, unexplored; /* there was one; it failed */
	struct explore_result chaos;
	char *chaos_why; /* what is to be said of a schedule that made the program fail, or of an exploration that failed; NULL: nothing */
};

/* The exit status of the program in runs that are equal. */
int ci_program_status(const struct ci *ci);

/* --- ci_files.c: artifacts, and the scratch directory. 0 or -errno with a message. --- */
int ci_make_artifacts(const struct ci *ci, struct error *err);
int ci_make_scratch(struct ci *ci, struct error *err);
void ci_remove_scratch(struct ci *ci);
/* A name in the scratch directory. Returns path. */
const char *ci_scratch_path(const struct ci *ci, const char *name, char path[CI_PATH_SIZE]);
/* A name in the directory of artifacts; the caller frees *ret. */
int ci_artifact_path(const struct ci *ci, const char *name, char **ret, struct error *err);
FILE *ci_create_artifact(const struct ci *ci, const char *name, struct error *err);
int ci_finish_file(FILE *f, const char *name, struct error *err);
/* A file of the scratch directory becomes an artifact. */
int ci_keep_file(const struct ci *ci, const char *name, struct error *err);
/* The same for a directory of files; what the artifact of that name had in it goes first. `wanted`: else it only goes. */
int ci_keep_directory(const struct ci *ci, const char *name, bool wanted, struct error *err);
/* What a standard descriptor is goes to a file of the scratch directory from now on; *ret_old is a copy of what it was. */
int ci_redirect(const struct ci *ci, const char *name, int fd, int *ret_old, struct error *err);
void ci_restore(int *old, int fd);

/* --- ci_report.c --- */
int ci_write_junit(const struct ci *ci, struct error *err);
int ci_write_summary(const struct ci *ci, struct error *err);
/* A page next to an event log of a run, both below the artifacts. */
int ci_write_timeline(const struct ci *ci, const char *log, const char *page, struct error *err);
void ci_annotate(const struct ci *ci);

#endif
