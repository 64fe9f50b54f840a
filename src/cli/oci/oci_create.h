/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments that `create` and `run` have in common. */
#ifndef HS_CLI_OCI_CREATE_H
#define HS_CLI_OCI_CREATE_H

#include <argp.h>

#include "supervisor/oci/lifecycle.h"

/* For struct argp.children, with a struct create_request as input. Checks that an id is given. */
extern const struct argp oci_create_argp;

#endif
