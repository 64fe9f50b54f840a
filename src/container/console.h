/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terminals. Who owns what:
 *   - By default the guest gets the caller's descriptors as they are and a session of its own without a controlling terminal.
 *     It can use a terminal on its stdin, but Ctrl-C, Ctrl-\ and Ctrl-Z go to the foreground group of the caller's session,
 *     that is to the supervisor, which decides about them. A shell in the guest has no job control.
 *   - With spec.terminal a pseudo-terminal is made inside the container. The guest has it as controlling terminal and has job
 *     control; the supervisor puts its own terminal into raw mode, relays bytes, and passes changes of size on.
 */
#ifndef HS_CONTAINER_CONSOLE_H
#define HS_CONTAINER_CONSOLE_H

#include <stdbool.h>
#include <termios.h>

#include "base/error.h"

/* A new pseudo-terminal of the devpts on /dev/pts of the calling process. Both close-on-exec, the caller's. */
int console_open(int *ret_master, int *ret_slave, struct error *err);

/*
 * Hands a descriptor to whoever listens at the socket `path`: one message, `name`, with it. The master of a terminal for
 * --console-socket, or a pidfd. `what` stands in messages.
 */
int console_send(const char *path, const char *what, const char *name, int sent, struct error *err);

/* Puts the terminal fd into raw mode; *ret_saved is for console_restore(). */
int console_make_raw(int fd, struct termios *ret_saved, struct error *err);

/* Never fails visibly: it is called on the way out. */
void console_restore(int fd, const struct termios *saved);

/* Gives one terminal the size of another. 0 or -errno. */
int console_copy_size(int from, int to);
int console_set_size(int fd, unsigned short rows, unsigned short columns);

#endif
