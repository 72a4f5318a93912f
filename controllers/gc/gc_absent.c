/* kube's absentOwnerCache. Thousands of dependents may name the same owner that is gone; without
 * this each would cost a request. A uid is never used again, so what is absent stays absent and
 * entries need no time to live; `max` alone bounds them. */
#include "controllers/gc/gc_absent.h"

struct gc_absent_entry {
	struct list link;
	uint8_t key[SHA256_SIZE];
};

static struct str key_str(const uint8_t key[SHA256_SIZE])
{
	return (struct str){(const char *)key, SHA256_SIZE};
}

void gc_absent_init(struct gc_absent *c, size_t max)
{
	map_init(&c->by_key, max);
	list_init(&c->by_use);
	c->max = max;
}

static void entry_remove(struct gc_absent *c, struct gc_absent_entry *e)
{
	map_remove(&c->by_key, key_str(e->key));
	list_remove(&e->link);
	mem_free(e);
}

void gc_absent_done(struct gc_absent *c)
{
	list_for_each_safe(it, &c->by_use) {
		entry_remove(c, list_entry(it, struct gc_absent_entry, link));
	}
	map_done(&c->by_key);
}

bool gc_absent_has(struct gc_absent *c, const struct gc_ref *r)
{
	uint8_t key[SHA256_SIZE];
	struct gc_absent_entry *e;

	gc_ref_key(r, key);
	e = map_get(&c->by_key, key_str(key));
	if (e) {
		list_remove(&e->link);
		list_append(&c->by_use, &e->link);
	}
	return e != NULL;
}

void gc_absent_add(struct gc_absent *c, const struct gc_ref *r)
{
	struct gc_absent_entry *e;

	if (gc_absent_has(c, r)) {
		return;
	}
	if (c->by_key.n == c->max) {
		entry_remove(c, list_entry(c->by_use.next, struct gc_absent_entry, link));
	}
	e = mem_new(struct gc_absent_entry);
	gc_ref_key(r, e->key);
	list_append(&c->by_use, &e->link);
	map_set(&c->by_key, key_str(e->key), e, NULL);
}
