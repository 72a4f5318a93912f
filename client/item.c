#include "client/item.h"

enum {
	TREE_MAX = 256 << 20,
	VALUES_MAX = 4 << 20,
	DEPTH_MAX = 512,
};

/* With object, the whole text, still without what is read from it. */
static struct item *parse(struct str text)
{
	size_t at;
	struct json *root;
	const struct json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
	_cleanup_(item_unrefp) struct item *i = mem_new(struct item);
	i->refs = 1;
	arena_init(&i->arena, TREE_MAX);
	if (json_parse(&root, &i->arena, arena_dup(&i->arena, text), limits, &at)) {
		return NULL;
	}
	i->object = root;
	return take_ptr(i);
}

/* Does it have what every object has? */
static bool read_meta(struct item *i)
{
	const struct json *meta = item_meta(i);
	i->namespace = json_text(json_gets(meta, "namespace"));
	i->name = json_text(json_gets(meta, "name"));
	i->uid = json_text(json_gets(meta, "uid"));
	bool has_version = str_to_uint64(json_text(json_gets(meta, "resourceVersion")), &i->version);
	return has_version && i->name.n;
}

struct item *item_new(struct str text)
{
	_cleanup_(item_unrefp) struct item *i = parse(text);
	return i && read_meta(i) ? take_ptr(i) : NULL;
}

struct item *item_of_event(struct str line, struct str *ret_type)
{
	_cleanup_(item_unrefp) struct item *i = parse(line);
	const struct json *object = i ? json_gets(i->object, "object") : NULL;
	if (!object) {
		return NULL;
	}
	*ret_type = json_text(json_gets(i->object, "type"));
	i->object = object;
	read_meta(i);
	return take_ptr(i);
}

struct item *item_ref(struct item *i)
{
	atomic_fetch_add_explicit(&i->refs, 1, memory_order_relaxed);
	return i;
}

struct item *item_unref(struct item *i)
{
	if (i && atomic_fetch_sub_explicit(&i->refs, 1, memory_order_acq_rel) == 1) {
		arena_done(&i->arena);
		mem_free(i);
	}
	return NULL;
}

const struct json *item_meta(const struct item *i)
{
	return json_gets(i->object, "metadata");
}

bool item_is_deleting(const struct item *i)
{
	return json_text(json_gets(item_meta(i), "deletionTimestamp")).n > 0;
}
