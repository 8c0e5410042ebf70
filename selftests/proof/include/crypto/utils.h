/* SPDX-License-Identifier: GPL-2.0 */
/* The leaves that are proved use nothing of it. */
