/* Objects that the cache keeps as etcd has them, in compressed form: recorded states and Histories
 * (api/model/packed.h). They were read and judged when they arrived, so their labels and values are
 * there as with any object. Only the body is rebuilt for each reader, in the same bytes. A reader
 * frees it when it has been sent, so lists of many such objects need little memory. */
#include "storage/cache/cached_private.h"

#include <assert.h>
#include <stdio.h>

/* The text of a packed object is its frame. */
static struct cached *pack_build(struct draft *d, struct str frame)
{
	const struct splice s = {.from = frame, .at = frame.n};

	assert(d->o.is_packed && !d->o.fields && d->beyond.n == 0);
	base_ref(d->o.base);
	return draft_build(d, &s);
}

/* Sets the draft's slices to those of an object. */
static void draft_take_slices(struct draft *d, const struct cached *o, struct arena *a)
{
	d->key = cached_key(o);
	d->slices = arena_array(a, struct str, n_slices(o) + 1);
	for (size_t i = 0; i < n_slices(o); i++) {
		d->slices[i] = cached_slice(o, i);
	}
}

struct cached *cached_pack(struct cached *whole, struct draft *from)
{
	struct draft d = {0};
	_cleanup_(arena_done) struct arena a;
	char scratch[1024];

	assert(!whole->fields && whole->n_beyond == 0 && !whole->is_packed);
	arena_init_with(&a, CACHED_DECODE_CEILING, scratch, sizeof(scratch));
	cached_copy(&d.o, whole);
	draft_take_slices(&d, whole, &a);
	d.o.n_body = (uint32_t)cached_body_size(whole);
	d.o.n_digest = (uint32_t)cached_digest_size(whole);
	d.o.is_packed = true;
	d.o.base = from->base;
	struct cached *packed = pack_build(&d, from->frame);
	cached_unref(whole);
	return packed;
}

static uint32_t digits_of(int64_t revision)
{
	return (uint32_t)snprintf(NULL, 0, "%lld", (long long)revision);
}

struct cached *cached_gone_packed(const struct cached *o, int64_t revision)
{
	struct draft d = {0};
	_cleanup_(arena_done) struct arena a;
	char scratch[1024];

	arena_init_with(&a, CACHED_DECODE_CEILING, scratch, sizeof(scratch));
	cached_copy(&d.o, o);
	draft_take_slices(&d, o, &a);
	uint32_t gain = digits_of(revision) - digits_of(o->revision); /* modulo 2^32 where negative */
	d.o.n_body += gain;
	d.o.n_metadata += gain;
	d.o.revision = revision;
	d.o.is_gone = true;
	return pack_build(&d, cached_own(o));
}

/* Makes the whole object of a packed one. */
static struct cached *cached_unpack(const struct cached *o)
{
	struct draft d = {.keeps_fields = true};
	_cleanup_(arena_done) struct arena a;
	char scratch[CACHED_SCRATCH];
	struct layout l;
	struct str text;
	bool opens;

	arena_init_with(&a, CACHED_DECODE_CEILING, scratch, sizeof(scratch));
	/* The frame was read when it arrived, and never changes. */
	int r = packed_text(&text, cached_own(o), o->base, &a);
	assert(r == 0);
	bool is_read = layout_read(&l, o->kind, text);
	assert(is_read);
	(void)r;
	(void)is_read;
	cached_copy(&d.o, o);
	d.o.is_packed = false;
	d.o.base = NULL;
	d.o.n_body = d.o.n_digest = 0;
	draft_take_slices(&d, o, &a);
	d.o.digest_at = o->digest_at > 0 ? (uint32_t)cached_digest_place(l.body, &opens) : 0;
	struct cached *whole = draft_with_revision(&d, &l, &a);
	assert(cached_body_size(whole) == o->n_body && whole->n_metadata == o->n_metadata);
	return whole;
}

struct cached *cached_whole(const struct cached *o)
{
	return o->is_packed ? cached_unpack(o) : cached_ref((struct cached *)(uintptr_t)o);
}
