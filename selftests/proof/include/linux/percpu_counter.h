/* SPDX-License-Identifier: GPL-2.0 */
#include "stand_ins.h"
