// SPDX-License-Identifier: GPL-2.0
#include "lib/nl_msg.h"

#include "lib/nl.h"

#include <errno.h>
#include <netlink/errno.h>
#include <netlink/genl/genl.h>
#include <string.h>

/*
 * Encoding
 */

static int put_uint(struct nl_msg *msg, const struct om_field *f, uint64_t v)
{
	switch (f->type) {
	case OM_U8:
		return nla_put_u8(msg, f->attr, (uint8_t)v);
	case OM_U16:
		return nla_put_u16(msg, f->attr, (uint16_t)v);
	case OM_U32:
		return nla_put_u32(msg, f->attr, (uint32_t)v);
	default:
		return nla_put_u64(msg, f->attr, v);
	}
}

static int put_nest(struct nl_msg *msg, const struct om_field *f,
		    const void *data)
{
	struct nlattr *nest = nla_nest_start(msg, f->attr | NLA_F_NESTED);
	int rc;

	if (!nest)
		return -NLE_NOMEM;
	rc = om_msg_put(msg, f->nest, data);
	if (!rc)
		nla_nest_end(msg, nest);
	return rc;
}

static int put_multi(struct nl_msg *msg, const struct om_field *f,
		     const struct om_list *list)
{
	int rc = 0;

	for (size_t i = 0; i < list->n && !rc; i++)
		rc = put_nest(msg, f, (char *)list->v + i * f->nest->size);
	return rc;
}

static int put_field(struct nl_msg *msg, const struct om_field *f,
		     const void *data)
{
	const void *p = om_field_ptr(f, data);
	const struct om_addr *addr = p;
	const struct om_data *d = p;

	switch (f->type) {
	case OM_STR:
		return nla_put_string(msg, f->attr, p);
	case OM_BIN:
		return nla_put(msg, f->attr, f->size, p);
	case OM_ADDR:
		return nla_put(msg, f->attr, addr->len, addr->b);
	case OM_DATA:
		return nla_put(msg, f->attr, d->len, d->b);
	case OM_FLAG:
		return nla_put_flag(msg, f->attr);
	case OM_NEST:
		return put_nest(msg, f, p);
	case OM_MULTI:
		return put_multi(msg, f, p);
	default:
		return put_uint(msg, f, om_field_uint(f, data));
	}
}

int om_msg_put(struct nl_msg *msg, const struct om_object *obj,
	       const void *data)
{
	int rc = 0;

	for (size_t i = 0; i < obj->fields && !rc; i++)
		if (om_field_has(&obj->field[i], data))
			rc = put_field(msg, &obj->field[i], data);
	return rc;
}

size_t om_nl_prefix_size(const struct om_prefix *p)
{
	int size = nla_total_size(p->addr.len) + nla_total_size(1);

	if (p->has & OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS))
		size += nla_total_size(4);
	return (size_t)nla_total_size(size);
}

size_t om_msg_size(const struct om_object *obj, const void *data)
{
	size_t size = NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN;

	for (size_t i = 0; i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];
		const struct om_list *list = om_field_ptr(f, data);

		size += (size_t)nla_total_size(f->size);
		if (f->type == OM_NEST)
			size += om_msg_size(f->nest, om_field_ptr(f, data));
		if (f->type != OM_MULTI)
			continue;
		if (f->nest != &om_prefix_object) {
			size += list->n * om_msg_size(f->nest, list->v);
			continue;
		}
		for (size_t k = 0; k < list->n; k++)
			size += om_nl_prefix_size(OM_AT(list, struct om_prefix,
							k));
	}
	return size;
}

/*
 * Decoding
 */

static int get_uint(const struct om_field *f, struct nlattr *a, void *data)
{
	switch (nla_len(a)) {
	case 1:
		om_field_store(f, data, nla_get_u8(a));
		return 0;
	case 2:
		om_field_store(f, data, nla_get_u16(a));
		return 0;
	case 4:
		om_field_store(f, data, nla_get_u32(a));
		return 0;
	case 8:
		om_field_store(f, data, nla_get_u64(a));
		return 0;
	default:
		return -EPROTO;
	}
}

static int get_str(const struct om_field *f, struct nlattr *a, void *data)
{
	char *p = (char *)data + f->offset;

	nla_strlcpy(p, a, f->size);
	om_field_set(f, data);
	return 0;
}

static int get_addr(const struct om_field *f, struct nlattr *a, void *data)
{
	struct om_addr *addr = (void *)((char *)data + f->offset);
	int len = nla_len(a);

	if (len != 4 && len != 16)
		return -EPROTO;
	addr->len = (uint8_t)len;
	memcpy(addr->b, nla_data(a), (size_t)len);
	om_field_set(f, data);
	return 0;
}

static int get_data(const struct om_field *f, struct nlattr *a, void *data)
{
	struct om_data *d = (void *)((char *)data + f->offset);
	int len = nla_len(a);

	if (len > OM_DATA_LEN)
		return -EPROTO;
	d->len = (uint16_t)len;
	memcpy(d->b, nla_data(a), (size_t)len);
	om_field_set(f, data);
	return 0;
}

static int get_multi(const struct om_field *f, struct nlattr *a, void *data)
{
	struct om_list *list = (void *)((char *)data + f->offset);

	om_field_set(f, data);
	return om_msg_get(nla_data(a), nla_len(a), f->nest,
			  om_list_add(list, f->nest->size));
}

static int get_field(const struct om_field *f, struct nlattr *a, void *data)
{
	char *p = (char *)data + f->offset;

	switch (f->type) {
	case OM_STR:
		return get_str(f, a, data);
	case OM_BIN:
		if (nla_len(a) != f->size)
			return -EPROTO;
		memcpy(p, nla_data(a), f->size);
		om_field_set(f, data);
		return 0;
	case OM_ADDR:
		return get_addr(f, a, data);
	case OM_DATA:
		return get_data(f, a, data);
	case OM_FLAG:
		om_field_store(f, data, 1);
		return 0;
	case OM_NEST:
		om_field_set(f, data);
		return om_msg_get(nla_data(a), nla_len(a), f->nest, p);
	case OM_MULTI:
		return get_multi(f, a, data);
	default:
		return get_uint(f, a, data);
	}
}

/* Attributes that are not in the table come from newer kernels, and are ignored. */
int om_msg_get(struct nlattr *first, int len, const struct om_object *obj,
	       void *data)
{
	struct nlattr *a;
	int rem, rc = 0;

	nla_for_each_attr(a, first, len, rem) {
		const struct om_field *f =
			om_field_get(obj, (unsigned int)nla_type(a));

		if (f && !rc)
			rc = get_field(f, a, data);
	}
	return rc;
}
