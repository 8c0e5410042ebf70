/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The latest timestamp of each key, our own or what stands for a peer's, kept in a file
 * across the agent's runs: what was sent before must not be taken for new by whoever
 * comes after us.
 *
 * Lines are added, "KEY TIME", in base64 and hexadecimal, the greatest counts,
 * and the file is made anew when most of them are old. One process has it at a time.
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
 * The file in @dir of the private key with this public key: it stays with the key
 * when a device gets another name.
 */
void om_times_path(char *path, size_t size, const char *dir, const uint8_t *public);
/* NULL after an error, which is EBUSY if another process has the file */
struct om_times *om_times_open(const char *path, struct om_err *err);
void om_times_close(struct om_times *t);
/* The process that has it, 0 for none or one that cannot be told */
pid_t om_times_owner(const char *path);

/*
 * What a peer's time is kept under, with a key of ours: messages that were made for
 * another one, stolen perhaps, say nothing to this one.
 */
void om_times_key(const uint8_t *ours, const uint8_t *theirs,
		  uint8_t key[OMERTA_KEY_LEN]);
/* All zeros for a key that is not known */
void om_times_get(const struct om_times *t, const uint8_t *key,
		  uint8_t time[OM_TIME_LEN]);
/* Take a time that is greater than the last, in memory alone; others change nothing. */
void om_times_learn(struct om_times *t, const uint8_t *key,
		    const uint8_t time[OM_TIME_LEN]);
struct om_times_item {
	uint8_t key[OMERTA_KEY_LEN];
	uint8_t time[OM_TIME_LEN];
};

/* Up to so many at once */
#define OM_TIMES_ITEMS	64

/* They are on disk, by one write, when it returns OM_OK; else nothing has changed. */
int om_times_put(struct om_times *t, const struct om_times_item *item, size_t n,
		 struct om_err *err);

/*
 * Give a key's time up, on disk when it returns OM_OK; else nothing has changed. Makes
 * the file anew, which takes time in the number of keys.
 */
int om_times_forget(struct om_times *t, const uint8_t *key, struct om_err *err);

#endif
