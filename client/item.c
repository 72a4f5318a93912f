/* Parsed twice on purpose: once in scratch memory to learn the size, once into memory of just
 * that size. An informer of 100,000 objects would otherwise hold the slack of as many arenas. */
#include "client/item.h"

#include <stdlib.h>

enum {
	TREE_MAX = 256 << 20,
	VALUES_MAX = 4 << 20,
	DEPTH_MAX = 512,
	SCRATCH_SIZE = 64 * 1024, /* most objects' trees fit */
};

static struct json *parse(struct arena *a, struct str text)
{
	size_t at;
	struct json *root;
	const struct json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
	return json_parse(&root, a, arena_dup(a, text), limits, &at) == 0 ? root : NULL;
}

static const struct json *meta_of(const struct json *object)
{
	return json_gets(object, "metadata");
}

const char *const item_managers[] = {"metadata.managedFields", NULL};

static const struct json *find(const struct json *object, struct str path)
{
	struct str name;

	while (object && path.n) {
		str_cut(path, '.', &name, &path);
		object = json_get(object, name);
	}
	return object;
}

static int by_place(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	return x->p < y->p ? -1 : x->p > y->p;
}

/* The text with null in the place of those members. */
static struct str leave_out(struct arena *a, const struct json *object, const char *const *paths)
{
	struct str places[ITEM_LEFT_OUT_MAX], all = object->source;
	size_t n = 0;
	struct buf out;

	for (; *paths && n < ITEM_LEFT_OUT_MAX; paths++) {
		const struct json *member = find(object, str_of(*paths));
		if (member) {
			places[n++] = member->source;
		}
	}
	if (!n) {
		return all;
	}
	qsort(places, n, sizeof(places[0]), by_place);
	buf_init(&out, all.n + n * sizeof("null"));
	const char *from = all.p;
	for (size_t i = 0; i < n; i++) {
		buf_add(&out, from, (size_t)(places[i].p - from));
		buf_adds(&out, "null");
		from = places[i].p + places[i].n;
	}
	buf_add(&out, from, (size_t)(all.p + all.n - from));
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

/* Room for what was measured; what did not fit the measure gets an arena that grows. */
static struct item *item_of_size(size_t n)
{
	struct item *i = mem_alloc(sizeof(*i) + n);
	*i = (struct item){.refs = 1};
	if (n) {
		arena_init_with(&i->arena, TREE_MAX, i->storage, n);
	} else {
		arena_init(&i->arena, TREE_MAX);
	}
	return i;
}

/* How much of the scratch memory parsing takes; 0: more than there is. */
static size_t measure(struct str text)
{
	_Alignas(16) char scratch[SCRATCH_SIZE];
	struct arena a;
	arena_init_with(&a, TREE_MAX, scratch, sizeof(scratch));
	parse(&a, text);
	size_t n = a.blocks ? 0 : sizeof(scratch) - a.left;
	arena_done(&a);
	return n;
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

static struct item *item_of_text(struct str text)
{
	_cleanup_(item_unrefp) struct item *i = item_of_size(measure(text));
	i->object = parse(&i->arena, text);
	return i->object && read_meta(i) ? take_ptr(i) : NULL;
}

struct item *item_new(struct str text, const char *const *left_out)
{
	struct arena a;
	if (!left_out) {
		return item_of_text(text);
	}
	arena_init(&a, TREE_MAX);
	const struct json *object = parse(&a, text);
	struct item *i = object ? item_of_text(leave_out(&a, object, left_out)) : NULL;
	arena_done(&a);
	return i;
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
	return meta_of(i->object);
}

bool item_is_deleting(const struct item *i)
{
	return json_text(json_gets(item_meta(i), "deletionTimestamp")).n > 0;
}
