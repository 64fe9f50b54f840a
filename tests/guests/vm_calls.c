/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every system call that the policy table does not let pass, by the table itself: rows that refuse are called with several kinds of arguments and
 * have to say their one errno; each other row has at least one line below, most of them with arguments that Linux refuses, and says
 * what Linux says. A row without a line is an error. See vm.h.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "vm.h"

enum class { UNLISTED, PASS, ORDER, FIXUP, EMULATE, REFUSE };

/* clang-format off */
static const struct row {
	int nr;
	const char *name;
	enum class class;
	int error;
} rows[] = {
#define ROW(nr, name, class, handler, result, flags, error, ...) { nr, #name, class, error },
#include "engine/policy/syscalls.def"
#undef ROW
};

/* Where arguments point to. */
static char memory[8192], path[] = "file", nothing[] = "nothing", empty[] = "";
static struct { long tv_sec, tv_nsec; } bad_time = { 1, -5 }, no_time = { 0, 0 }, short_time = { 0, 1000 };
static uint64_t no_signals, bad_clone[11] = { 0x800 /* CLONE_SIGHAND alone */ }, vector[2] = { 0, 16 }, fault_vector[2] = { 8, 16 }, message[7];
static int file, closed = 900, reader, writer, sock, directory, event;

#define A(pointer) ((long)(uintptr_t)(pointer))
#define BAD 8 /* no address */

enum { SHOW = 1 };  /* the result is hermit's decision, not Linux's */

static const struct line {
	const char *name;
	int how;
	long args[6];
	int *fd; /* the first argument is this descriptor */
} lines[] = {
#define L(name, ...) { #name, 0, { __VA_ARGS__ }, NULL },
#define S(name, ...) { #name, SHOW, { __VA_ARGS__ }, NULL },
#define F(name, fd, ...) { #name, 0, { 0, __VA_ARGS__ }, &(fd) },
#define FS(name, fd, ...) { #name, SHOW, { 0, __VA_ARGS__ }, &(fd) },
	F(read, closed, A(memory), 1) F(read, writer, A(memory), 1) F(read, file, BAD, 4) F(read, directory, A(memory), 1)
	F(write, closed, A(memory), 1) F(write, reader, A(memory), 1) F(write, writer, BAD, 4)
	L(open, A(nothing), 0) L(open, BAD, 0) L(open, A(path), O_DIRECTORY) L(open, A(path), O_CREAT | O_EXCL, 0600) L(open, A(empty), 0)
	F(close, closed) L(stat, A(nothing), A(memory)) L(stat, A(path), BAD) F(fstat, closed, A(memory)) F(fstat, file, BAD)
	L(lstat, A(nothing), A(memory)) L(lstat, BAD, A(memory))
	L(poll, BAD, 1, 0) L(poll, 0, 0, 1) F(lseek, file, 0, 77) F(lseek, reader, 0, 0) F(lseek, closed, 0, 0)
	L(mmap, 0, 0, 1, 2, -1, 0) L(mmap, 0, 4096, 1, 0, -1, 0) L(mmap, 1, 4096, 1, 0x32, -1, 0) L(mmap, 0, 4096, 5, 2, 900, 0)
	L(mprotect, 1, 4096, 1) L(mprotect, 4096, 4096, PROT_EXEC) F(ioctl, closed, 0x5401, A(memory)) F(ioctl, file, 0x5401, A(memory)) F(ioctl, reader, 0x541b, BAD)
	F(pread64, reader, A(memory), 1, 0) F(pread64, file, A(memory), 1, -1) F(pwrite64, writer, A(memory), 1, 0) F(pwrite64, closed, A(memory), 1, 0)
	F(readv, file, BAD, 1) F(readv, closed, A(vector), 1) F(readv, file, A(fault_vector), 1) F(readv, file, A(vector), 2000)
	F(writev, writer, BAD, 1) F(writev, closed, A(vector), 1) F(writev, reader, A(vector), 1)
	L(access, A(nothing), 0) L(access, A(path), 77) L(access, BAD, 0) L(pipe, BAD) L(select, -1, 0, 0, 0, 0) L(select, 1, BAD, 0, 0, 0) L(select, 0, 0, 0, 0, A(&bad_time))
	L(sched_yield) L(mremap, 1, 4096, 4096, 0) L(mremap, 4096, 4096, 8192, 99) L(msync, 1, 1, 4) L(msync, 4096, 4096, 4) L(mincore, 1, 4096, A(memory)) L(mincore, 4096, 4096, A(memory))
	L(madvise, 1, 4096, 0) L(madvise, 4096, 4096, 0) L(madvise, 0, 4096, 7777)
	L(shmget, 77, 4096, 0) L(shmget, 0, 0, 01600) L(shmat, 12345, 0, 0) L(shmctl, 12345, 2, A(memory)) L(shmctl, 0, 77, 0) L(shmdt, 1)
	F(dup, closed) F(dup2, closed, 50) F(dup2, file, -1) F(dup3, file, 50, 77) F(dup3, closed, 50, 0)
	L(nanosleep, A(&bad_time), 0) L(nanosleep, BAD, 0) L(nanosleep, A(&short_time), 0) L(getitimer, 9, A(memory)) L(getitimer, 0, BAD) L(alarm, 0) L(setitimer, 9, 0, 0) L(setitimer, 0, BAD, 0)
	F(sendfile, closed, 900, 0, 1) F(sendfile, writer, 900, 0, 1) L(socket, 9999, 1, 0) L(socket, 2, 77, 0) L(socket, 1, 1, 77) S(socket, 40, 1, 0)
	F(connect, file, A(memory), 16) F(connect, closed, A(memory), 16) F(connect, sock, BAD, 16) F(connect, sock, A(memory), 1)
	F(accept, file, 0, 0) F(accept, closed, 0, 0) F(accept, sock, 0, 0) F(accept4, sock, 0, 0, 77) F(accept4, closed, 0, 0, 0)
	F(sendto, file, A(memory), 1, 0, 0, 0) F(sendto, closed, A(memory), 1, 0, 0, 0) F(sendto, sock, A(memory), 1, 0, A(memory), 1)
	F(recvfrom, file, A(memory), 1, 0, 0, 0) F(recvfrom, closed, A(memory), 1, 0, 0, 0) F(recvfrom, sock, A(memory), 1, 0x40, 0, 0)
	F(sendmsg, file, A(message), 0) F(sendmsg, closed, A(message), 0) F(sendmsg, sock, BAD, 0) F(recvmsg, file, A(message), 0) F(recvmsg, closed, A(message), 0) F(recvmsg, sock, BAD, 0x40)
	F(shutdown, closed, 0) F(shutdown, file, 0) F(shutdown, sock, 77) F(bind, closed, A(memory), 16) F(bind, file, A(memory), 16) F(bind, sock, BAD, 16) F(bind, sock, A(memory), 1)
	F(listen, closed, 1) F(listen, file, 1) F(getsockname, closed, A(memory), BAD) F(getsockname, sock, A(memory), BAD) F(getpeername, file, A(memory), A(memory)) F(getpeername, sock, A(memory), A(memory + 16))
	L(socketpair, 2, 1, 0, A(memory)) L(socketpair, 1, 1, 0, BAD) F(setsockopt, closed, 1, 1, A(memory), 4) F(setsockopt, sock, 1, 2, A(memory), 1) F(setsockopt, sock, 1, 8, BAD, 4)
	F(getsockopt, closed, 1, 3, A(memory), A(memory)) F(getsockopt, sock, 1, 3, A(memory), BAD) F(getsockopt, sock, 1, 7777, A(memory), A(memory))
	L(clone, 0x800, 0, 0, 0, 0) L(clone, 0x10000, 0, 0, 0, 0) L(clone3, BAD, 88) L(clone3, A(bad_clone), 88) L(clone3, A(bad_clone), 1) L(clone3, A(bad_clone), 5000) L(fork) L(vfork)
	L(execve, A(nothing), 0, 0) L(execve, BAD, 0, 0) L(execve, A(path), 0, 0) L(execveat, -100, A(nothing), 0, 0, 0) L(execveat, -100, A(path), 0, 0, 0x7777) F(execveat, closed, A(empty), 0, 0, 0x1000)
	L(exit, 0) L(exit_group, 0) L(wait4, -1, 0, 0, 0) L(wait4, -1, 0, 0x77777, 0) L(wait4, 99999999, 0, 0, 0) L(waitid, 9, 0, A(memory), 4, 0) L(waitid, 0, 0, A(memory), 0, 0) L(waitid, 0, 0, A(memory), 4, 0)
	L(kill, 99999999, 0) L(kill, 0, 99) L(tkill, 99999999, 0) L(tkill, -1, 0) L(tgkill, -1, -1, 0) L(tgkill, 99999999, 99999999, 0) L(rt_sigqueueinfo, 99999999, 10, A(memory)) L(rt_sigqueueinfo, 1, 10, BAD) L(rt_tgsigqueueinfo, 99999999, 99999999, 10, A(memory)) L(rt_tgsigqueueinfo, 0, 0, 10, A(memory))
	L(uname, BAD) L(semget, 77, 1, 0) L(semget, 0, -1, 01600) L(semop, 12345, A(memory), 1) L(semop, 0, A(memory), 0) L(semctl, 12345, 0, 12, 0) L(semtimedop, 12345, A(memory), 1, A(&bad_time)) L(semtimedop, 12345, A(memory), 1, 0)
	L(msgget, 77, 0) L(msgsnd, 12345, A(memory), 1, 0) L(msgsnd, 0, BAD, 1, 0) L(msgrcv, 12345, A(memory), 1, 0, 0) L(msgrcv, 0, A(memory), -1, 0, 0) L(msgctl, 12345, 2, A(memory))
	F(fcntl, closed, 1, 0) F(fcntl, file, 7777, 0) F(fcntl, file, F_SETLK, BAD) F(fcntl, file, F_DUPFD, -1) F(flock, closed, 2) F(flock, file, 77)
	F(fsync, closed) F(fsync, reader) F(fdatasync, closed) F(fdatasync, reader) L(truncate, A(nothing), 1) L(truncate, A(path), -1) F(ftruncate, closed, 1) F(ftruncate, reader, 1) F(ftruncate, file, -1)
	F(getdents, closed, A(memory), 100) F(getdents, file, A(memory), 100) F(getdents, directory, A(memory), 4) F(getdents64, closed, A(memory), 100) F(getdents64, directory, A(memory), 4)
	L(chdir, A(nothing)) L(chdir, A(path)) L(chdir, BAD) F(fchdir, closed) F(fchdir, file) L(rename, A(nothing), A(path)) L(rename, BAD, A(path)) L(mkdir, A(path), 0700) L(mkdir, BAD, 0700) L(rmdir, A(path)) L(rmdir, A(nothing))
	L(creat, BAD, 0600) L(creat, A(empty), 0600) L(link, A(nothing), A("other")) L(link, A(path), A(path)) L(unlink, A(nothing)) L(unlink, BAD) L(symlink, A("x"), A(path)) L(symlink, A(empty), A("other"))
	L(readlink, A(path), A(memory), 100) L(readlink, A(nothing), A(memory), 100) L(readlink, A(path), A(memory), 0) L(readlinkat, -100, A(path), A(memory), 100) F(readlinkat, closed, A(path), A(memory), 100)
	L(chmod, A(nothing), 0600) L(chmod, BAD, 0600) F(fchmod, closed, 0600) L(chown, A(nothing), 0, 0) F(fchown, closed, 0, 0) L(lchown, A(nothing), 0, 0) L(lchown, BAD, 0, 0)
	L(gettimeofday, BAD, 0) L(gettimeofday, 0, 0) L(getrlimit, 99, A(memory)) L(getrlimit, 0, BAD) L(getrusage, 99, A(memory)) L(getrusage, 0, BAD) L(sysinfo, BAD) L(times, BAD)
	L(setuid, -1) L(setgid, -1) L(setreuid, -1, -1) L(setregid, -1, -1) L(setresuid, -1, -1, -1) L(setresgid, -1, -1, -1) L(setgroups, -1, 0) L(setgroups, 1, BAD) L(setfsuid, -1) L(setfsgid, -1) L(capset, BAD, 0) L(capset, A(memory), 0)
	L(setpgid, 99999999, 0) L(setpgid, 0, -1) L(setsid) L(rt_sigtimedwait, BAD, 0, 0, 8) L(rt_sigtimedwait, A(&no_signals), 0, A(&bad_time), 8) L(rt_sigtimedwait, A(&no_signals), 0, A(&no_time), 8) L(rt_sigtimedwait, A(&no_signals), 0, 0, 7)
	L(rt_sigsuspend, BAD, 8) L(rt_sigsuspend, A(&no_signals), 7) L(utime, A(nothing), 0) L(utime, A(path), BAD) L(mknod, A(path), 0100600, 0) L(mknod, BAD, 0100600, 0) L(personality, 0xffffffff)
	L(statfs, A(nothing), A(memory)) L(statfs, A(path), BAD) F(fstatfs, closed, A(memory)) F(fstatfs, file, BAD)
	L(getpriority, 9, 0) L(getpriority, 0, 99999999) L(setpriority, 9, 0, 0) L(setpriority, 0, 99999999, 0) L(sched_setparam, -1, A(memory)) L(sched_setparam, 0, 0) L(sched_getparam, -1, A(memory)) L(sched_getparam, 99999999, A(memory))
	L(sched_setscheduler, -1, 0, A(memory)) L(sched_setscheduler, 0, 77, A(memory)) L(sched_setscheduler, 0, 0, 0) L(sched_getscheduler, -1) L(sched_getscheduler, 99999999) L(sched_rr_get_interval, -1, A(memory)) L(sched_rr_get_interval, 99999999, A(memory))
	L(prctl, 7777, 0, 0, 0, 0) L(prctl, 1, 99, 0, 0, 0) L(prctl, 15, BAD, 0, 0, 0) L(arch_prctl, 0x7777, 0) L(arch_prctl, 0x1003, BAD) L(adjtimex, BAD) S(adjtimex, A(memory)) L(setrlimit, 99, A(memory)) L(setrlimit, 0, BAD) L(chroot, A(nothing)) L(chroot, BAD) L(sync)
	F(readahead, closed, 0, 1) F(readahead, reader, 0, 1)
	L(setxattr, A(nothing), A("user.x"), A(memory), 1, 0) L(setxattr, A(path), A("user.x"), A(memory), 1, 77) L(lsetxattr, A(nothing), A("user.x"), A(memory), 1, 0) F(fsetxattr, closed, A("user.x"), A(memory), 1, 0)
	L(getxattr, A(nothing), A("user.x"), A(memory), 1) L(lgetxattr, A(nothing), A("user.x"), A(memory), 1) F(fgetxattr, closed, A("user.x"), A(memory), 1) L(listxattr, A(nothing), A(memory), 1) L(llistxattr, A(nothing), A(memory), 1) F(flistxattr, closed, A(memory), 1)
	L(removexattr, A(nothing), A("user.x")) L(lremovexattr, A(nothing), A("user.x")) F(fremovexattr, closed, A("user.x")) S(setxattrat, -100, A(nothing), 0, A("user.x"), A(memory), 16) S(getxattrat, -100, A(nothing), 0, A("user.x"), A(memory), 16) S(listxattrat, -100, A(nothing), 0, A(memory), 1) S(removexattrat, -100, A(nothing), 0, A("user.x"))
	L(time, BAD) L(futex, 1, 0, 0, 0, 0, 0) L(futex, 8, 0, 0, 0, 0, 0) L(futex, A(memory), 99, 0, 0, 0, 0) L(futex, A(memory), 0, 1, 0, 0, 0) L(futex, A(memory), 0, 0, A(&bad_time), 0, 0) L(futex, A(memory), 1, 1, 0, 0, 0)
	L(sched_setaffinity, 0, 0, A(memory)) L(sched_setaffinity, 99999999, 8, A(memory)) L(sched_getaffinity, 0, 1, A(memory)) L(sched_getaffinity, 99999999, 128, A(memory)) L(epoll_create, 0) L(epoll_create, -1) L(epoll_create1, 77)
	S(restart_syscall) F(fadvise64, closed, 0, 0, 0) F(fadvise64, reader, 0, 0, 0) F(fadvise64, file, 0, 0, 77)
	L(timer_create, 99, 0, A(memory)) L(timer_create, 0, BAD, A(memory)) L(timer_settime, 77, 0, A(memory), 0) L(timer_gettime, 77, A(memory)) L(timer_getoverrun, 77) L(timer_delete, 77)
	L(clock_gettime, 99, A(memory)) L(clock_gettime, 0, BAD) L(clock_getres, 99, A(memory)) L(clock_getres, 0, BAD) L(clock_nanosleep, 99, 0, A(&no_time), 0) L(clock_nanosleep, 0, 0, A(&bad_time), 0) L(clock_nanosleep, 1, 0, BAD, 0) L(clock_adjtime, 99, A(memory)) L(clock_adjtime, 0, BAD)
	F(epoll_wait, closed, A(memory), 1, 0) F(epoll_wait, file, A(memory), 1, 0) F(epoll_wait, event, A(memory), 0, 0) F(epoll_wait, event, A(memory), 1, 0) F(epoll_pwait, closed, A(memory), 1, 0, 0, 8) F(epoll_pwait, event, A(memory), -1, 0, 0, 8) F(epoll_pwait2, closed, A(memory), 1, A(&no_time), 0, 8) F(epoll_pwait2, event, A(memory), 1, A(&bad_time), 0, 8)
	F(epoll_ctl, closed, 1, 0, A(memory)) F(epoll_ctl, event, 77, 0, A(memory)) F(epoll_ctl, event, 1, 900, A(memory)) F(epoll_ctl, event, 1, 0, BAD)
	L(utimes, A(nothing), 0) L(utimes, A(path), BAD) L(futimesat, -100, A(nothing), 0) F(futimesat, closed, A(path), 0) L(utimensat, -100, A(nothing), 0, 0) L(utimensat, -100, A(path), BAD, 0) L(utimensat, -100, A(path), 0, 0x7777)
	L(mbind, 1, 4096, 0, 0, 0, 0) L(mbind, 4096, 4096, 77, 0, 0, 0) L(set_mempolicy, 77, 0, 0) L(get_mempolicy, 0, 0, 0, 0, 0x7777) S(set_mempolicy_home_node, 4096, 4096, 0, 0) S(migrate_pages, 0, 0, 0, 0) S(move_pages, 0, 0, 0, 0, 0, 0) L(move_pages, 0, 0, 0, 0, 0, 0x7777)
	L(mq_open, BAD, 0, 0, 0) L(mq_open, A("none"), 0, 0, 0) L(mq_unlink, A("none")) L(mq_unlink, BAD) F(mq_timedsend, closed, A(memory), 1, 0, 0) F(mq_timedsend, file, A(memory), 1, 0, 0) F(mq_timedreceive, closed, A(memory), 1, 0, 0) F(mq_timedreceive, file, A(memory), 1, 0, A(&bad_time)) F(mq_notify, closed, 0) F(mq_getsetattr, closed, 0, 0)
	L(ioprio_set, 9, 0, 0) L(ioprio_get, 9, 0) L(ioprio_get, 1, 99999999) L(inotify_init) L(inotify_init1, 77) F(inotify_add_watch, closed, A(path), 1) F(inotify_add_watch, file, A(path), 1) F(inotify_rm_watch, closed, 1) F(inotify_rm_watch, file, 1)
	L(openat, -100, A(nothing), 0) F(openat, closed, A(path), 0) F(openat, file, A(path), 0) L(openat2, -100, A(path), A(memory), 1) L(openat2, -100, A(path), BAD, 24) F(openat2, closed, A(path), A(memory), 24)
	L(mkdirat, -100, A(path), 0700) F(mkdirat, closed, A("x"), 0700) L(mknodat, -100, A(path), 0100600, 0) L(fchownat, -100, A(nothing), 0, 0, 0) L(fchownat, -100, A(path), 0, 0, 0x7777) L(newfstatat, -100, A(nothing), A(memory), 0) L(newfstatat, -100, A(path), A(memory), 0x7777) L(newfstatat, -100, A(path), BAD, 0) F(newfstatat, closed, A(path), A(memory), 0)
	L(unlinkat, -100, A(nothing), 0) L(unlinkat, -100, A(path), 0x7777) L(renameat, -100, A(nothing), -100, A(path)) L(renameat2, -100, A(path), -100, A(path), 0x7777) L(renameat2, -100, A(path), -100, A(path), 1) L(linkat, -100, A(nothing), -100, A("other"), 0) L(linkat, -100, A(path), -100, A("other"), 0x77) L(symlinkat, A("x"), -100, A(path)) F(symlinkat, closed, A(path), A("x"))
	L(fchmodat, -100, A(nothing), 0600) S(fchmodat2, -100, A(nothing), 0600, 0) L(faccessat, -100, A(nothing), 0) L(faccessat, -100, A(path), 77) L(faccessat2, -100, A(path), 0, 0x7777) L(faccessat2, -100, A(nothing), 0, 0)
	L(pselect6, -1, 0, 0, 0, 0, 0) L(pselect6, 0, 0, 0, 0, A(&bad_time), 0) L(ppoll, BAD, 1, A(&no_time), 0, 8) L(ppoll, 0, 0, A(&bad_time), 0, 8) L(ppoll, 0, 0, A(&no_time), A(&no_signals), 7)
	F(splice, closed, 0, 900, 0, 1, 0) F(splice, file, 0, 900, 0, 1, 0) F(splice, reader, 0, 900, 0, 1, 0) F(splice, reader, 0, 1, 0, 1, 0x7777) F(tee, closed, 900, 1, 0) F(tee, file, 900, 1, 0) F(vmsplice, closed, A(vector), 1, 0) F(vmsplice, file, A(vector), 1, 0) F(vmsplice, writer, BAD, 1, 0) F(sync_file_range, closed, 0, 1, 0) F(sync_file_range, file, 0, 1, 0x7777)
	F(signalfd, file, A(&no_signals), 8) F(signalfd, closed, A(&no_signals), 8) L(signalfd4, -1, A(&no_signals), 8, 7777) L(signalfd4, -1, BAD, 8, 0) L(signalfd4, -1, A(&no_signals), 7, 0) L(timerfd_create, 99, 0) L(timerfd_create, 0, 77) F(timerfd_settime, closed, 0, A(memory), 0) F(timerfd_settime, file, 0, A(memory), 0) F(timerfd_gettime, file, A(memory)) F(timerfd_gettime, closed, A(memory))
	L(eventfd, 0) L(eventfd2, 0, 7777) L(pipe2, A(memory), 7777) L(pipe2, BAD, 0) F(fallocate, closed, 0, 0, 1) F(fallocate, reader, 0, 0, 1) F(fallocate, file, 0, -1, 1) F(fallocate, file, 0, 0, 0)
	F(preadv, closed, A(vector), 1, 0, 0) F(preadv, reader, A(vector), 1, 0, 0) F(preadv, file, A(vector), 1, -1, 0) F(pwritev, closed, A(vector), 1, 0, 0) F(pwritev, writer, A(vector), 1, 0, 0) F(preadv2, file, A(vector), 1, 0, 0, 0x7777) F(preadv2, closed, A(vector), 1, 0, 0, 0) F(pwritev2, closed, A(vector), 1, 0, 0, 0) F(pwritev2, file, A(vector), 1, 0, 0, 0x7777)
	F(recvmmsg, closed, A(memory), 1, 0, 0) F(recvmmsg, file, A(memory), 1, 0x40, 0) F(sendmmsg, closed, A(memory), 1, 0) F(sendmmsg, file, A(memory), 1, 0) L(prlimit64, 0, 99, 0, 0) L(prlimit64, 99999999, 0, 0, 0) L(prlimit64, 0, 0, BAD, 0) F(syncfs, closed) L(getcpu, BAD, 0, 0)
	L(process_vm_readv, 99999999, A(vector), 1, A(vector), 1, 0) L(process_vm_readv, 0, A(vector), 1, A(vector), 1, 1) L(process_vm_writev, 99999999, A(vector), 1, A(vector), 1, 0) L(process_vm_writev, 0, BAD, 1, A(vector), 1, 1) L(sched_setattr, -1, A(memory), 0) L(sched_setattr, 0, 0, 0) L(sched_getattr, -1, A(memory), 48, 0) L(sched_getattr, 0, A(memory), 1, 0)
	L(seccomp, 77, 0, 0) L(seccomp, 1, 0, BAD) L(seccomp, 1, 0x7777, A(memory)) L(seccomp, 0, 1, 0) L(getrandom, BAD, 8, 0) L(getrandom, A(memory), 8, 0x7777) L(memfd_create, A(path), 0x77777777) L(memfd_create, BAD, 0) L(membarrier, 7777, 0, 0) L(membarrier, 0, 77, 0)
	F(copy_file_range, closed, 0, 900, 0, 1, 0) F(copy_file_range, file, 0, 900, 0, 1, 0) F(copy_file_range, file, 0, 900, 0, 1, 7) F(pkey_mprotect, closed, 0, 0, -1) L(pkey_mprotect, 1, 4096, 4, -1) L(statx, -100, A(nothing), 0, 0xfff, A(memory)) L(statx, -100, A(path), 0, 0x80000000, A(memory)) L(statx, -100, A(path), 0x7000000, 0xfff, A(memory)) L(statx, -100, A(path), 0, 0xfff, BAD) F(statx, closed, A(path), 0, 0xfff, A(memory))
	F(pidfd_send_signal, closed, 0, 0, 0) F(pidfd_send_signal, file, 0, 0, 0) L(pidfd_open, 0, 0) L(pidfd_open, 99999999, 0) L(pidfd_open, 1, 0x7777777) F(pidfd_getfd, closed, 0, 0) F(pidfd_getfd, file, 0, 0) L(close_range, 5, 4, 0) L(close_range, 1000, 1001, 0x7777)
	L(set_tid_address, 0) L(uretprobe) L(uprobe)
	L(pause) /* ended by the alarm */
};
/* clang-format on */

enum { LINES = sizeof(lines) / sizeof(lines[0]), ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct row *row_of(const char *name)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	printf("! no call %s\n", name);
	exit(1);
}

/* Calls whose result is a number of somebody's that need not be the same natively. */
static bool is_a_number(const char *name)
{
	static const char *const names[] = { "fork",	"vfork", "setsid",   "set_tid_address", "times",   "inotify_init", "eventfd",
					     "setfsuid", "setfsgid", "personality", "gettimeofday", "sched_getscheduler", "membarrier", "getpriority" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void no_op(int signo)
{
	(void)signo;
}

static void open_things(void)
{
	int fds[2];

	file = (int)MUST(open(path, O_RDWR | O_CREAT, 0600));
	directory = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	MUST(pipe(fds));
	reader = fds[0];
	writer = fds[1];
	sock = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	event = (int)MUST(epoll_create1(0));
	vector[0] = (uint64_t)(uintptr_t)memory;
}

/* In a process of its own, because it may be ruined: says what came out. */
static void try_line(const struct line *line)
{
	const struct row *row = row_of(line->name);
	const long *a = line->args;
	const struct itimerval again = { { 1, 0 }, { 1, 0 } }; /* the first alarm may come before the call */
	pid_t child = fork(), me;
	long result;

	if (child) {
		int status;

		MUST(waitpid(child, &status, 0));
		status &= ~0x80; /* whether there is a core file */
		if (status)
			SAME("%s ended with %x", line->name, (unsigned)status);
		return;
	}
	me = getpid();
	if (!strcmp(line->name, "pause")) {
		signal(SIGALRM, no_op);
		(void)setitimer(ITIMER_REAL, &again, NULL);
	}
	if (!strcmp(line->name, "vfork")) { /* the child lives on this stack */
		child = vfork();
		if (!child)
			_exit(0);
		SAME("vfork %d", child > 0 && waitpid(child, NULL, 0) == child);
		_exit(0);
	}
	errno = 0;
	result = syscall(row->nr, line->fd ? *line->fd : a[0], a[1], a[2], a[3], a[4], a[5]);
	if (getpid() != me)
		_exit(0); /* a child of fork */
	if (result >= 0 && is_a_number(line->name))
		SAME("%s works", line->name);
	else
		vm_line(line->how == SHOW ? '#' : '=', "%s %s", line->name, vm_result(result));
	_exit(0);
}

/* One errno, whatever the arguments are. */
static int refused(const struct row *row)
{
	static const long kinds[] = { 0, -1, 1, BAD, 4096 };
	int wrong = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]) + 1; i++) {
		long k = i < 5 ? kinds[i] : A(memory);

		errno = 0;
		if (syscall(row->nr, k, k, k, k, k, k) != -1 || errno != row->error) {
			printf("! %s(%lx...): %s, not %s\n", row->name, (unsigned long)k, strerrorname_np(errno), strerrorname_np(row->error));
			wrong++;
		}
	}
	return wrong;
}

static bool has_line(const char *name)
{
	for (unsigned i = 0; i < LINES; i++)
		if (!strcmp(lines[i].name, name))
			return true;
	return false;
}

int main(void)
{
	char dir[] = "/tmp/vm_calls.XXXXXX";
	int missing = 0, refusing = 0, wrong = 0;
	/* Without hermit they would be carried out. */
	bool here = getenv("VM_CALLS_REFUSED");

	MUST(mkdtemp(dir) ? 0 : -1);
	MUST(chdir(dir));
	open_things();
	for (unsigned i = 0; i < ROWS; i++) {
		if (rows[i].class == REFUSE && here) {
			refusing++;
			wrong += refused(&rows[i]);
		} else if (rows[i].class != PASS && rows[i].class != REFUSE && !has_line(rows[i].name)) {
			printf("! no line for %s\n", rows[i].name);
			missing++;
		}
	}
	SHOWN("%d refused, %d wrong", refusing, wrong);
	for (unsigned i = 0; i < LINES; i++)
		try_line(&lines[i]);
	vm_end();
	MUST(chdir("/"));
	(void)unlink("file");
	execl("/bin/rm", "rm", "-r", dir, (char *)NULL);
	return missing != 0;
}
