/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The latest timestamp of each key, our own or one that stands for a peer, in a file that
 * outlives the agent: a later agent must not accept old initiations as new.
 *
 * The file has lines "KEY TIME", in base64 and hexadecimal. New lines are appended, the
 * greatest time counts, and the file is rewritten when most lines are stale. One process can
 * open it at a time.
 */
#ifndef OM_TIMES_H
#define OM_TIMES_H

#include "lib/base.h"

#include <linux/omerta.h>
#include <sys/types.h>

/* Bytes of a timestamp, TAI64N */
#define OM_TIME_LEN	12

/* Default folder of the files, unless $STATE_DIRECTORY names another. */
#define OM_STATE_DIR	"/var/lib/omerta"

struct om_times;

/*
 * Make the name of the file in @dir for this public key of ours. It does not depend on the
 * name of the device.
 */
void om_times_path(char *path, size_t size, const char *dir, const uint8_t *public);
/* Open a file. Returns NULL on errors; the error is EBUSY if another process has it open. */
struct om_times *om_times_open(const char *path, struct om_err *err);
void om_times_close(struct om_times *t);
/* Return the process that has the file open, 0 for none or an unknown one. */
pid_t om_times_owner(const char *path);

/*
 * Derive the key of a peer's time from our public key and the peer's. So times that were
 * sent to another, possibly stolen, key of ours do not count for this one.
 */
void om_times_key(const uint8_t *ours, const uint8_t *theirs,
		  uint8_t key[OMERTA_KEY_LEN]);
/* Read the time of a key; zeros for an unknown key. */
void om_times_get(const struct om_times *t, const uint8_t *key,
		  uint8_t time[OM_TIME_LEN]);
/* Raise the time of a key, in memory only. A time that is not greater has no effect. */
void om_times_learn(struct om_times *t, const uint8_t *key,
		    const uint8_t time[OM_TIME_LEN]);
struct om_times_item {
	uint8_t key[OMERTA_KEY_LEN];
	uint8_t time[OM_TIME_LEN];
};

/* Most times that om_times_put() takes */
#define OM_TIMES_ITEMS	64

/* Store times on disk, with one write. After an error nothing has changed. */
int om_times_put(struct om_times *t, const struct om_times_item *item, size_t n,
		 struct om_err *err);

/*
 * Forget the time of a key, on disk. After an error nothing has changed. Rewrites the file,
 * in O(number of keys).
 */
int om_times_forget(struct om_times *t, const uint8_t *key, struct om_err *err);

#endif
