/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OM_TOY_KEM_H
#define OM_TOY_KEM_H

#include "agent/kem.h"

/* As if omertactl had been built without */

#endif
