/* Each run is compressed by itself, and ends at a byte. So runs can be joined in any list, and
 * crc32_combine() makes the checksum of the whole from theirs. A hash of an object's name ends a
 * run, as in content-defined chunking: a write moves no ends but its own run's. */
#include "server/request/gzip_list.h"

#include "api/model/kind.h"
#include "base/deflate.h"
#include "base/hash_table.h"
#include "base/list.h"

#include <assert.h>
#include <pthread.h>
#include <zlib.h>

enum {
	RUN_MIN = 32 << 10,      /* bytes of text: so that compressing without what is before costs little */
	RUN_MAX = 256 << 10,     /* unless one object is larger */
	RUN_CUT = 16,            /* from RUN_MIN on, one object in so many ends a run */
	STORED_HEAD = 5,         /* bytes before an uncompressed block */
	STORED_MAX = 65535,      /* bytes of a block that is not compressed, by its format */
	MAX_RUNS = 1 << 20,      /* compressed runs that are kept; the least recently used one makes room */
	RUN_TEXT_MAX = 1 << 30,  /* bytes of one run: more than any object has */
	PACKERS_KEPT = 4,        /* more threads than that seldom compress at once */
	PACKER_KEPT = 512 << 10, /* bytes of text that a packer may have room for, and still be kept */
};

/* ---- runs ---- */

/* The id of a run. Objects are immutable, and kind, history, name and revision identify one; if
 * a version shows it differently, its length differs. Lists never contain deleted objects
 * (cached_gone()). Collisions (2^-64, seeded) are not checked. */
struct run_id {
	uint64_t hash;
	uint64_t text_n;
};

struct packed {
	struct bytes *bytes; /* a reference; ends at a byte's end */
	unsigned long crc;   /* of the text */
	size_t text_n;
};

struct run {
	struct list link;
	struct hash_node node; /* by id */
	struct run_id id;
	struct packed packed;
};

/* Compresses one run after the other. */
struct packer {
	struct deflater *deflater;
	struct buf text, out;
};

struct gzip_runs {
	/* Guards the fields below, and is held for look-ups only, never while compressing. */
	pthread_mutex_t lock;
	struct hash_table by_id;
	struct list used; /* longest ago first */
	size_t n_bytes, max_bytes;
	uint64_t n_found, n_made;
	/* A list has a packer only while it compresses, not while it waits for its reader. */
	struct packer *packers[PACKERS_KEPT];
	size_t n_packers;
};

/* ---- packers ---- */

static struct packer *packer_free(struct packer *p)
{
	if (p) {
		deflater_free(p->deflater);
		buf_done(&p->text);
		buf_done(&p->out);
	}
	return mem_free(p);
}

static struct packer *packer_get(struct gzip_runs *r)
{
	struct packer *p = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->n_packers > 0) {
		p = r->packers[--r->n_packers];
	}
	pthread_mutex_unlock(&r->lock);
	if (!p) {
		p = mem_new(struct packer);
		p->deflater = deflater_new();
		buf_init(&p->text, RUN_TEXT_MAX);
		buf_init(&p->out, deflate_bound(RUN_TEXT_MAX));
	}
	return p;
}

/* Takes p. */
static void packer_put(struct gzip_runs *r, struct packer *p)
{
	pthread_mutex_lock(&r->lock);
	if (r->n_packers < PACKERS_KEPT && p->text.cap <= PACKER_KEPT) {
		r->packers[r->n_packers++] = p;
		p = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	packer_free(p);
}

/* ---- keeping runs ---- */

struct gzip_runs *gzip_runs_new(size_t max_bytes)
{
	struct gzip_runs *r = mem_new(struct gzip_runs);

	pthread_mutex_init(&r->lock, NULL);
	list_init(&r->used);
	r->max_bytes = max_bytes;
	return r;
}

static struct run *runs_look_up(const struct gzip_runs *r, const struct run_id *id)
{
	for (struct hash_node *n = hash_table_first(&r->by_id, id->hash); n; n = hash_node_next(n)) {
		struct run *run = container_of(n, struct run, node);
		if (run->id.text_n == id->text_n) {
			return run;
		}
	}
	return NULL;
}

static void runs_drop(struct gzip_runs *r, struct run *run)
{
	hash_table_remove(&r->by_id, &run->node);
	list_remove(&run->link);
	r->n_bytes -= run->packed.bytes->n;
	bytes_unref(run->packed.bytes);
	mem_free(run);
}

struct gzip_runs *gzip_runs_free(struct gzip_runs *r)
{
	if (r) {
		while (!list_is_empty(&r->used)) {
			runs_drop(r, list_entry(r->used.next, struct run, link));
		}
		while (r->n_packers > 0) {
			packer_free(r->packers[--r->n_packers]);
		}
		hash_table_done(&r->by_id);
		pthread_mutex_destroy(&r->lock);
	}
	return mem_free(r);
}

void gzip_runs_stats(struct gzip_runs *r, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made)
{
	pthread_mutex_lock(&r->lock);
	*ret_n_bytes = r->n_bytes;
	*ret_n_found = r->n_found;
	*ret_n_made = r->n_made;
	pthread_mutex_unlock(&r->lock);
}

static bool runs_find(struct gzip_runs *r, const struct run_id *id, struct packed *ret)
{
	pthread_mutex_lock(&r->lock);
	struct run *run = runs_look_up(r, id);
	if (run) {
		list_remove(&run->link);
		list_append(&r->used, &run->link);
		*ret = run->packed;
		bytes_ref(ret->bytes);
		r->n_found++;
	}
	pthread_mutex_unlock(&r->lock);
	return run != NULL;
}

/* Keeps a run. If two threads have made it, the first one's stays. */
static void runs_add(struct gzip_runs *r, const struct run_id *id, const struct packed *packed)
{
	pthread_mutex_lock(&r->lock);
	r->n_made++;
	if (packed->bytes->n <= r->max_bytes && !runs_look_up(r, id)) {
		struct run *run = mem_new(struct run);

		*run = (struct run){.id = *id, .packed = *packed};
		bytes_ref(packed->bytes);
		list_init(&run->link);
		list_append(&r->used, &run->link);
		hash_table_add(&r->by_id, &run->node, id->hash);
		r->n_bytes += packed->bytes->n;
		while (r->n_bytes > r->max_bytes || r->by_id.n >= MAX_RUNS) {
			runs_drop(r, list_entry(r->used.next, struct run, link));
		}
	}
	pthread_mutex_unlock(&r->lock);
}

/* ---- which items are a run ---- */

static struct str item_opening(const struct gzip_list *g, size_t i)
{
	struct str opening = g->opening.n > 0 ? g->opening : STR(",{");

	return i == 0 ? (struct str){opening.p + 1, opening.n - 1} : opening;
}

static size_t item_size(const struct gzip_list *g, size_t i)
{
	return g->form ? g->form->size(g->form->ctx, i) : item_opening(g, i).n + cached_shown_size(g->items[i], g->version);
}

static uint64_t hash_add(uint64_t hash, const struct cached *o, uint64_t name_hash, size_t n)
{
	uint64_t parts[] = {hash, name_hash, (uint64_t)o->revision, o->epoch, n};

	return str_hash((struct str){(const char *)parts, sizeof(parts)});
}

/* Measures the run that begins with g's next item. Returns the item behind it. */
static size_t run_measure(const struct gzip_list *g, struct run_id *id)
{
	const struct cached *first = g->items[g->item];
	/* The first item of a list has no comma before it, so its run differs. */
	uint64_t place[] = {
		first->kind->index, g->item == 0, str_hash(first->ns), g->form ? g->form->id : 0, str_hash(g->opening)};
	struct str ns = first->ns;
	size_t i = g->item;
	bool is_end = false;

	*id = (struct run_id){.hash = str_hash((struct str){(const char *)place, sizeof(place)})};
	/* A run ends with its namespace, so a list of one namespace finds the runs of a list of
	 * all. */
	while (i < g->n_items && !is_end && str_eq(g->items[i]->ns, ns)) {
		const struct cached *o = g->items[i];
		uint64_t name_hash = str_hash(o->name);
		size_t n = item_size(g, i);

		id->hash = hash_add(id->hash, o, name_hash, n);
		id->text_n += n;
		/* Decided by the name, which stays when the object changes. */
		is_end = id->text_n >= RUN_MAX || (id->text_n >= RUN_MIN && name_hash % RUN_CUT == 0);
		i++;
	}
	return i;
}

static bool add_item(struct buf *text, const struct gzip_list *g, size_t i)
{
	if (g->form) {
		return g->form->add(text, g->form->ctx, i);
	}
	_cleanup_(cached_unrefp) struct cached *o = cached_whole(g->items[i]);
	const size_t n_pieces = cached_pieces(o, g->version);
	buf_add_str(text, item_opening(g, i));
	for (size_t k = 0; k < n_pieces; k++) {
		buf_add_str(text, cached_piece(o, g->version, k));
	}
	return true;
}

static bool add_items(struct buf *text, const struct gzip_list *g, size_t end)
{
	for (size_t i = g->item; i < end; i++) {
		if (!add_item(text, g, i)) {
			return false;
		}
	}
	return true;
}

/* Compresses a run. The result has no bytes when an item could not be made. */
static struct packed run_pack(const struct gzip_list *g, size_t end, size_t text_n)
{
	struct packer *packer = packer_get(g->runs);
	bool is_estimate = g->form && !g->form->id;
	struct packed packed = {0};

	buf_clear(&packer->text);
	buf_clear(&packer->out);
	buf_reserve(&packer->text, text_n);
	if (add_items(&packer->text, g, end)) {
		assert(is_estimate || packer->text.n == text_n);
		packed.text_n = packer->text.n;
		buf_reserve(&packer->out, deflate_bound(packed.text_n));
		size_t n = deflate_text(packer->deflater, buf_str(&packer->text), packer->out.p);
		packed.bytes = bytes_dup((struct str){packer->out.p, n});
		packed.crc = gzip_checksum(buf_str(&packer->text));
	}
	packer_put(g->runs, packer);
	return packed;
}

/* ---- the stream: head, runs, tail ---- */

static void count_text(struct gzip_list *g, unsigned long crc, size_t n)
{
	g->crc = crc32_combine(g->crc, crc, (z_off_t)n);
	g->text_n += (uint32_t)n;
}

/* Writes text uncompressed, in a block of its own. */
static char *put_stored(struct gzip_list *g, char *p, struct str text, bool is_last)
{
	assert(text.n <= STORED_MAX);
	p[0] = is_last ? 1 : 0;
	gzip_put_le(p + 1, (uint32_t)text.n, 2);
	gzip_put_le(p + 3, ~(uint32_t)text.n, 2);
	memcpy(p + STORED_HEAD, text.p, text.n);
	count_text(g, gzip_checksum(text), text.n);
	return p + STORED_HEAD + text.n;
}

static struct bytes *make_tail(struct gzip_list *g)
{
	struct bytes *b = bytes_new(STORED_HEAD + g->tail.n + GZIP_TAIL_SIZE);

	char *p = put_stored(g, b->p, g->tail, true);

	gzip_put_tail(p, (uint32_t)g->crc, g->text_n);
	return b;
}

static struct bytes *next_run(struct gzip_list *g)
{
	struct run_id id;
	size_t end = run_measure(g, &id);
	bool is_kept = !g->form || g->form->id;
	struct packed packed;

	if (!is_kept || !runs_find(g->runs, &id, &packed)) {
		packed = run_pack(g, end, id.text_n);
		if (!packed.bytes) {
			return NULL;
		}
		if (is_kept) {
			runs_add(g->runs, &id, &packed);
		}
	}
	g->item = end;
	count_text(g, packed.crc, packed.text_n);
	return packed.bytes;
}

static struct bytes *next_chunk(struct gzip_list *g)
{
	if (!g->has_head) {
		g->has_head = true;
		struct bytes *b = bytes_new(GZIP_HEAD.n + STORED_HEAD + g->head.n);

		memcpy(b->p, GZIP_HEAD.p, GZIP_HEAD.n);
		put_stored(g, b->p + GZIP_HEAD.n, g->head, false);
		return b;
	}
	if (g->item < g->n_items) {
		return next_run(g);
	}
	if (!g->has_tail) {
		g->has_tail = true;
		return make_tail(g);
	}
	return NULL;
}

static bool has_chunk(struct gzip_list *g)
{
	if (!g->chunk) {
		g->chunk = next_chunk(g);
		g->chunk_at = 0;
	}
	return g->chunk != NULL;
}

size_t gzip_list_read(struct gzip_list *g, char *p, size_t max)
{
	size_t n = 0;

	while (n < max && (g->chunk || n == 0) && has_chunk(g)) {
		size_t part = MIN(max - n, g->chunk->n - g->chunk_at);

		memcpy(p + n, g->chunk->p + g->chunk_at, part);
		n += part;
		g->chunk_at += part;
		if (g->chunk_at == g->chunk->n) {
			g->chunk = bytes_unref(g->chunk);
		}
	}
	return n;
}

void gzip_list_done(struct gzip_list *g)
{
	g->chunk = bytes_unref(g->chunk);
}
