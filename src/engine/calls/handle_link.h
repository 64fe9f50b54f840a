/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface requests of ioctl(2) whose answers are not the kernel's to give. */
#ifndef HS_ENGINE_HANDLE_LINK_H
#define HS_ENGINE_HANDLE_LINK_H

struct engine;
struct task;
struct verdict;

/* SIOCGIFNAME, SIOCGIFINDEX, SIOCGIFHWADDR, SIOCGIFCONF: as a handler. */
int handle_link_ioctl(struct engine *e, struct task *t, struct verdict *v);

#endif
