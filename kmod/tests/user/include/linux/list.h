/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_LIST_H
#define _OMERTA_USER_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *h)
{
	h->next = h;
	h->prev = h;
}

static inline void list_add(struct list_head *e, struct list_head *h)
{
	e->prev = h;
	e->next = h->next;
	h->next->prev = e;
	h->next = e;
}

static inline void list_add_tail(struct list_head *e, struct list_head *h)
{
	list_add(e, h->prev);
}

static inline void list_del_init(struct list_head *e)
{
	e->next->prev = e->prev;
	e->prev->next = e->next;
	INIT_LIST_HEAD(e);
}

static inline void list_del(struct list_head *e)
{
	list_del_init(e);
	e->next = e->prev = NULL;
}

static inline void list_move_tail(struct list_head *e, struct list_head *h)
{
	list_del_init(e);
	list_add_tail(e, h);
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

/* Puts @from's entries in front of @h's; @from is not usable afterwards. */
static inline void list_splice(struct list_head *from, struct list_head *h)
{
	if (list_empty(from))
		return;
	from->prev->next = h->next;
	h->next->prev = from->prev;
	h->next = from->next;
	from->next->prev = h;
}

static inline void list_splice_init(struct list_head *from, struct list_head *h)
{
	list_splice(from, h);
	INIT_LIST_HEAD(from);
}

#define list_entry(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))
#define list_first_entry(h, type, member) \
	list_entry((h)->next, type, member)
#define list_for_each_entry(pos, h, member)				\
	for (pos = list_entry((h)->next, __typeof__(*pos), member);	\
	     &pos->member != (h);					\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, tmp, h, member)			\
	for (pos = list_entry((h)->next, __typeof__(*pos), member),	\
	     tmp = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (h);					\
	     pos = tmp,							\
	     tmp = list_entry(pos->member.next, __typeof__(*pos), member))

#endif /* _OMERTA_USER_LIST_H */
