/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HS_ENGINE_ENGINE_H
#define HS_ENGINE_ENGINE_H
#endif
