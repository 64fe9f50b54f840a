/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of container/ share. Order of work, all in the process that becomes process 1 of the container unless said
 * otherwise:
 *
 *   container.c  ends of pipes, admission to cgroups, waiting (creator)
 *   launch.c     clone into the namespaces (creator, or its helper)
 *   init.c       die with the creator, cgroups, host name, loopback; then root.c; then fork the guest (own_init)
 *   root.c       the tree: cow.c or a bind, devices.c, further mounts, masks; pivot_root
 *   guest.c      session, descriptors, limits, credentials, look-up of the program; ready; go-ahead; filter; exec
 *
 * Everything before the go-ahead reports its errors over the channel.
 */
#ifndef HS_CONTAINER_INTERNAL_H
#define HS_CONTAINER_INTERNAL_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "container/container.h"
#include "container/mountinfo.h"

/* Exit statuses of the tool itself, as shells use them. */
enum { STATUS_FAILURE = 125, STATUS_CANNOT_EXECUTE = 126, STATUS_NOT_FOUND = 127 };

/* ---- channel.c: a SEQPACKET pair between creator and container ---- */

enum channel_kind { CHANNEL_ERROR = 1, CHANNEL_READY, CHANNEL_GO, CHANNEL_CONSOLE, CHANNEL_CHILD, CHANNEL_HOOK };

struct channel_message {
	enum channel_kind kind;
	int code;   /* CHANNEL_ERROR: errno value; CHANNEL_CHILD: number of process 1 */
	int status; /* CHANNEL_ERROR: exit status that fits */
	char text[1024];
};

/* Both ends; the first one is the creator's and gets the sender's process number with each message. */
int channel_open(int ret_ends[2]);
int channel_send(int fd, const struct channel_message *message);
int channel_send_error(int fd, const struct error *err, int status);

/* Sends with a descriptor attached. */
int channel_send_fd(int fd, enum channel_kind kind, int attached);

/*
 * Receives one message: 1, or 0 at end of file, or -errno (-EAGAIN when MSG_DONTWAIT is in flags). *ret_pid: the sender in
 * our numbers; *ret_fd: an attached descriptor or -1. Both may be NULL.
 */
int channel_receive(int fd, int flags, struct channel_message *ret, pid_t *ret_pid, int *ret_fd);

/* ---- userns.c ---- */

/* Adds to err which of these namespaces (CLONE_NEW*) is refused and by what, by trying each of them. */
void namespaces_explain(unsigned long flags, struct error *err);

/* Writes both maps of the process, by newuidmap and newgidmap where that is not allowed directly. */
int userns_write_maps(pid_t pid, const struct container_id_maps *maps, struct error *err);

/* A descriptor of a new user namespace with these maps, which no process lives in. */
int userns_create(const struct container_id_maps *maps, struct error *err);

/* Becomes user and group 0 of the namespace just entered, if there are such. */
void userns_become_root(void);

/* True in any user namespace but the first. */
bool userns_is_nested(void);

/* ---- init.c ---- */

struct child_ends {
	int channel;
	int reaped_fd; /* write end, or -1 */
	unsigned long namespaces; /* CLONE_NEW* that are the container's own */
	bool links_inherit;       /* net_links_inherit() */
	pid_t inside;             /* not 0: into the namespaces of this process, as one more */
	bool admitted_by_creator; /* a CHANNEL_GO comes before anything is done */
	int *idmapped;            /* for each mount of the description a detached mount made by the creator, or -1; or NULL */
	int devices;              /* from devices_prepare(), or -1 */
};

/* The process created by container_create(). Does not return. */
_Noreturn void init_main(const struct container_spec *spec, const struct child_ends *ends);

/* The process created by container_create_inside(), in place. Does not return. */
_Noreturn void inside_main(const struct container_spec *spec, const struct child_ends *ends);

/* ---- launch.c ---- */

/*
 * Makes the child that goes on with these ends; channel and reaped are the creator's, closed in it. Returns its number, or -1
 * with errno set, or with a message in err. With a helper it is the helper's number; CHANNEL_CHILD brings the other one.
 */
pid_t launch(const struct container_spec *spec, const struct child_ends *ends, int channel, int reaped, struct error *err);
bool launch_takes_helper(const struct container_spec *spec, const struct child_ends *ends);

/* ---- root.c, cow.c, devices.c, mounts.c, sys.c ---- */

/* Builds the container's tree and makes it the root of this process. `shared` is of shared_root_open(). */
int root_enter(const struct container_spec *spec, const struct child_ends *ends, int shared, struct error *err);

struct stage {
	char path[64]; /* the tmpfs of this container, mounted on an existing directory inside the private mount namespace */
	const struct container_spec *spec;
	struct mount_table mounts; /* as they were before */
	bool userns;
	unsigned long namespaces; /* that are the container's own */
	int *binds;               /* for each mount of the description: a detached mount, or -1 */
	int channel;  /* to the creator */
	int host_sys; /* detached copy of the host's /sys, or -1 */
	int files;    /* the directory of host_files, or -1 */
	int devices;  /* the creator's nodes for the description's devices, attached, or -1 */
	int root;     /* the tree's root, O_PATH; reopened after each mount on it */
	int shared;   /* the mount namespace that is not the container's own, or -1 */
};

/* ---- shared_root.c: without a mount namespace of its own ---- */

/* The namespace that it shares, opened before it is joined; *ret is -1 where it has its own. */
int shared_root_open(const struct container_spec *spec, unsigned long namespaces, int *ret, struct error *err);
/* Into a copy of it, where the tree is made. */
int shared_root_leave(int shared, struct error *err);
/* Back, with the tree mounted on the root directory. */
int shared_root_attach(struct stage *stage, struct error *err);

/* A copy-on-write view of the host's tree, or of the directory `source`, at stage->root. */
int cow_build(struct stage *stage, const char *source, struct error *err);

/*
 * A detached copy-on-write view of one source of a bind, of which `bind` is a detached copy, in the kept layers. -ENOTSUP, without a message:
 * it is no directory or file of a plain file system, or has other mounts, the root or the layers about it.
 */
int cow_bind(struct stage *stage, const char *source, int bind, struct error *err);

/*
 * Before the tree: the description's host_files, in stage->files. _have: is the path one of them? _have_below: or a directory with some? _cover: puts
 * one over the host's own file, if that is what the tree has there, and no link.
 */
int host_files_make(struct stage *stage, struct error *err);
bool host_files_have(const struct stage *stage, const char *path);
bool host_files_have_below(const struct stage *stage, const char *path);
int host_files_cover(const struct stage *stage, const struct container_file *file, struct error *err);

/* /dev with its nodes, links, pts, shm, mqueue. */
int devices_populate(const struct stage *stage, struct error *err);
int devices_standard_nodes(const struct stage *stage, struct error *err);

/*
 * For a container with a user namespace of its own, where mknod is refused: the creator's detached tmpfs with a node for each device of the
 * description, named by its number there, with the owner that the maps give. *ret stays -1 where the creator may not do that either.
 */
int devices_prepare(const struct container_spec *spec, int *ret, struct error *err);

/*
 * Before anything is mounted over the host's tree: takes detached copies of all bind sources into stage->binds, which
 * becomes the stage's. Then, in the new tree, makes all mounts in order.
 */
int mounts_prepare(struct stage *stage, const int *idmapped, struct error *err);
int mounts_apply(struct stage *stage, struct error *err);
/* When all is in its place: what is read-only, and had to be filled. */
int mounts_finish(struct stage *stage, struct error *err);
bool mounts_is_bind(const struct container_mount *m);

/*
 * cow_binds: sources that the new tree has, before anything else is mounted on it, are taken from there. So a bind is copy-on-write, and another name
 * of what is seen elsewhere in the tree, as it is of the host's. The container's own directories, and what no view could be made of, stay the host's.
 */
int mounts_take_view(struct stage *stage, struct error *err);

/*
 * The same where the tree is not the host's: each source that is written to has a layer of its own. Sources within each other, and those
 * that a mount with mapped owners shows, stay the host's, because what is written to one has to be seen in the other.
 */
int mounts_take_layers(struct stage *stage, struct error *err);

/* /sys, unless the description's mounts have all that there is. */
int sys_mount(struct stage *stage, struct error *err);

/* Detached copies with shifted owners of the mounts that ask for it; done by the creator, who has the power. *ret: a heap array. */
int mounts_prepare_idmapped(const struct container_spec *spec, int **ret, struct error *err);

int cgroup_mount(struct stage *stage, const struct container_mount *m, uint64_t attributes, struct error *err);

/* ---- copytree.c: 0 or -errno ---- */

/* Owner, mode and times. Owners that are not mapped are left alone. */
int copy_attributes(int dirfd, const char *name, const struct stat *st);
int copy_bytes(int from, int to, off_t size);

/* What has this name in one directory, into another. */
int copy_entry(int from, int to, const char *name);

/* The contents of one directory into another, empty one. */
int copy_tree(int from, int to);

/* Both inside the finished root. */
int masks_apply(const struct container_spec *spec, struct error *err);
int sysctls_apply(const struct container_spec *spec, struct error *err);

/* ---- net.c ---- */

/* Brings lo up in the current network namespace, with IPv6 behaving the same each time. inherits: net_links_inherit() of whoever has made it. */
int net_loopback_up(bool inherits, struct error *err);
/* net_settings.c: may a network namespace that is made here have IPv6's settings of links from another one? And what settings of links are as a rule, set. */
bool net_links_inherit(void);
void net_link_settings(bool inherits);
/* Makes container_pair there, after it. */
int net_pair_up(struct error *err);
/*
 * For lo, and its end of container_pair, in the network namespace one is in; some time after it came up: what the kernel still has to do
 * then, in its own time, gives the address its route back.
 */
int net_acknowledge_at_once(bool pair, struct error *err);
/*
 * For a network namespace that others have made, if it is not the host's own: no wait for duplicate addresses, none that are drawn. fixed_macs: links
 * that are one end of a pair get the MAC addresses of the numbers that a guest sees.
 */
int net_configure_joined(bool fixed_macs, struct error *err);
/* Waits until links and IPv6 addresses of the network namespace, which others have made, are ready; not for ever, then it warns. */
int net_settle(struct error *err);
/* Asks for all objects of a kind (RTM_GETLINK, RTM_GETADDR, ...) and gives each to take(message, data). Returns 0 or -errno. */
int net_dump(struct mnl_socket *socket, uint16_t type, unsigned char family, mnl_cb_t take, void *data);
/* A request in a buffer that has room for it (flags besides NLM_F_REQUEST | NLM_F_ACK), and the kernel's answer to one: 0 or -errno. */
struct nlmsghdr *net_begin(char *buf, uint16_t type, uint16_t flags);
int net_carry_out(struct mnl_socket *socket, const struct nlmsghdr *nlh);

/* ---- guest.c, lookup.c, caps.c ---- */

/* The rest of the guest's life in our code. Does not return. */
_Noreturn void guest_main(const struct container_spec *spec, int channel, const char *default_cwd);

/* Reports and ends; for every failure of a child before the exec. */
_Noreturn void child_fail(int channel, const struct error *err, int status);

/*
 * The path to hand to execve for `name`, searched in the PATH of envp as execvp does; *ret is the caller's. On failure
 * *ret_status is 126 or 127.
 */
int program_lookup(const char *name, char **envp, char **ret, int *ret_status, struct error *err);

/*
 * caps_drop_bounding() before the user changes, caps_apply() after it. keep_admin leaves CAP_SYS_ADMIN in the permitted and
 * effective sets so that a filter can be installed without no_new_privs; execve recomputes both and takes it away.
 */
int caps_drop_bounding(const struct container_caps *caps, struct error *err);
int caps_apply(const struct container_caps *caps, bool keep_admin, struct error *err);

#endif
