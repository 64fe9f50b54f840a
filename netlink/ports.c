/* SPDX-License-Identifier: BSD-3-Clause */
/* Port ids: see ports.h. */
#include "netlink/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the kernel starts to go down when a rover begins at its other end. */
#define ROVER_START ((uint32_t)-4097)
/* The last negative number; below it come positive ones, which are process ids. */
#define ROVER_END ((uint32_t)INT32_MIN)

void nl_ports_init(struct nl_ports *ports)
{
	*ports = (struct nl_ports){ 0 };
}

void nl_ports_deinit(struct nl_ports *ports)
{
	free(ports->ports);
	free(ports->rovers);
	nl_ports_init(ports);
}

static struct nl_port *port_find(const struct nl_ports *ports, int protocol, uint32_t virtual_id)
{
	for (size_t i = 0; i < ports->n_ports; i++)
		if (ports->ports[i].protocol == protocol && ports->ports[i].virtual_id == virtual_id)
			return &ports->ports[i];
	return NULL;
}

int nl_ports_bind(struct nl_ports *ports, int protocol, uint32_t virtual_id)
{
	struct nl_port *bigger;

	if (port_find(ports, protocol, virtual_id))
		return -EADDRINUSE;
	bigger = reallocarray(ports->ports, ports->n_ports + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	ports->ports = bigger;
	bigger[ports->n_ports++] = (struct nl_port){
		.protocol = protocol,
		.virtual_id = virtual_id,
		.real_id = virtual_id,
	};
	return 0;
}

static struct nl_rover *rover_get(struct nl_ports *ports, int protocol)
{
	struct nl_rover *bigger;

	for (size_t i = 0; i < ports->n_rovers; i++)
		if (ports->rovers[i].protocol == protocol)
			return &ports->rovers[i];
	bigger = reallocarray(ports->rovers, ports->n_rovers + 1, sizeof(*bigger));
	if (!bigger)
		return NULL;
	ports->rovers = bigger;
	bigger[ports->n_rovers] = (struct nl_rover){ .protocol = protocol, .next = ROVER_START };
	return &bigger[ports->n_rovers++];
}

int nl_ports_autobind(struct nl_ports *ports, int protocol, uint32_t tgid, uint32_t *ret_virtual)
{
	struct nl_rover *rover;
	uint32_t id = tgid;
	int r;

	if (id == 0 || port_find(ports, protocol, id)) {
		rover = rover_get(ports, protocol);
		if (!rover)
			return -ENOMEM;
		do {
			id = rover->next;
			rover->next = id == ROVER_END ? ROVER_START : id - 1;
		} while (port_find(ports, protocol, id));
	}
	r = nl_ports_bind(ports, protocol, id);
	if (r < 0)
		return r;

	*ret_virtual = id;
	return 0;
}

void nl_ports_set_real(struct nl_ports *ports, int protocol, uint32_t virtual_id, uint32_t real_id)
{
	struct nl_port *port = port_find(ports, protocol, virtual_id);

	if (port)
		port->real_id = real_id;
}

void nl_ports_release(struct nl_ports *ports, int protocol, uint32_t virtual_id)
{
	struct nl_port *port = port_find(ports, protocol, virtual_id);
	size_t index;

	if (!port)
		return;
	index = (size_t)(port - ports->ports);
	ports->n_ports--;
	memmove(port, port + 1, (ports->n_ports - index) * sizeof(*port));
}

uint32_t nl_ports_to_virtual(const struct nl_ports *ports, int protocol, uint32_t real_id)
{
	for (size_t i = 0; ports && real_id != 0 && i < ports->n_ports; i++)
		if (ports->ports[i].protocol == protocol && ports->ports[i].real_id == real_id)
			return ports->ports[i].virtual_id;
	return real_id;
}

uint32_t nl_ports_to_real(const struct nl_ports *ports, int protocol, uint32_t virtual_id)
{
	const struct nl_port *port = ports ? port_find(ports, protocol, virtual_id) : NULL;

	return port ? port->real_id : virtual_id;
}
