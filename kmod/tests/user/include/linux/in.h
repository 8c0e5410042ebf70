/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_LINUX_IN_H
#define _USER_LINUX_IN_H

#include <netinet/in.h>

#endif
