/* A table of fixed size, in parts with a lock each: an object's place follows from its hash, and only a few places are looked at. So a
 * look-up costs the same however many there are, and a full table loses single objects rather than time. */
#include "server/request/protobuf_items.h"

#include "api/model/protobuf_write.h"
#include "server/request/respond.h"

#include <pthread.h>

enum {
	N_PARTS = 16,
	N_SLOTS = 4096,      /* of a part */
	N_WAYS = 4,          /* places that an object may have */
	SCRATCH = 256 << 20, /* bytes: an object has at most a million values, each of which takes some 72 while it is read */
};

struct slot {
	uint64_t hash;
	struct bytes *bytes; /* a reference; NULL: free */
	bool is_used;        /* since the hand came by */
};

/* Under its lock, which is held for look-ups only: nobody makes a message under it. */
struct part {
	pthread_mutex_t lock;
	struct slot *slots; /* allocated with the first message */
	size_t n_bytes, hand;
	uint64_t n_found, n_made;
};

struct protobuf_items {
	size_t max_bytes; /* of a part */
	struct part parts[N_PARTS];
};

struct protobuf_items *protobuf_items_new(size_t max_bytes)
{
	struct protobuf_items *p = mem_new(struct protobuf_items);

	p->max_bytes = max_bytes / N_PARTS;
	for (size_t i = 0; i < N_PARTS; i++) {
		pthread_mutex_init(&p->parts[i].lock, NULL);
	}
	return p;
}

struct protobuf_items *protobuf_items_free(struct protobuf_items *p)
{
	for (size_t i = 0; p && i < N_PARTS; i++) {
		for (size_t k = 0; p->parts[i].slots && k < N_SLOTS; k++) {
			bytes_unref(p->parts[i].slots[k].bytes);
		}
		mem_free(p->parts[i].slots);
		pthread_mutex_destroy(&p->parts[i].lock);
	}
	return mem_free(p);
}

void protobuf_items_stats(struct protobuf_items *p, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made)
{
	*ret_n_bytes = *ret_n_found = *ret_n_made = 0;
	for (size_t i = 0; i < N_PARTS; i++) {
		pthread_mutex_lock(&p->parts[i].lock);
		*ret_n_bytes += p->parts[i].n_bytes;
		*ret_n_found += p->parts[i].n_found;
		*ret_n_made += p->parts[i].n_made;
		pthread_mutex_unlock(&p->parts[i].lock);
	}
}

/* Objects are immutable, and one of a kind at one revision of one history under one name is one object. Collisions (2^-64, seeded) are not
 * looked for. */
static uint64_t item_hash(const struct cached *o, const struct door *d, enum protobuf_part part)
{
	uint64_t facts[] = {str_hash(o->ns), str_hash(o->name), (uint64_t)o->revision, o->epoch, o->kind->index,
		(uint64_t)(d - o->kind->doors), part};

	return str_hash((struct str){(const char *)facts, sizeof(facts)});
}

static struct part *part_of(struct protobuf_items *p, uint64_t hash)
{
	return &p->parts[hash % N_PARTS];
}

static struct slot *slot_of(struct part *p, uint64_t hash, size_t way)
{
	return &p->slots[(hash / N_PARTS + way) % N_SLOTS];
}

static struct slot *part_find(struct part *p, uint64_t hash)
{
	for (size_t way = 0; p->slots && way < N_WAYS; way++) {
		struct slot *s = slot_of(p, hash, way);
		if (s->bytes && s->hash == hash) {
			return s;
		}
	}
	return NULL;
}

static void slot_clear(struct part *p, struct slot *s)
{
	if (s->bytes) {
		p->n_bytes -= s->bytes->n;
		s->bytes = bytes_unref(s->bytes);
	}
}

/* What was used since the hand came by last may stay once more. */
static void part_make_room(struct part *p, size_t max_bytes)
{
	while (p->n_bytes > max_bytes) {
		struct slot *s = &p->slots[p->hand++ % N_SLOTS];
		if (s->is_used) {
			s->is_used = false;
		} else {
			slot_clear(p, s);
		}
	}
}

/* A free place, or one that nobody has used lately, or the first. */
static struct slot *part_choose(struct part *p, uint64_t hash)
{
	struct slot *best = slot_of(p, hash, 0);

	for (size_t way = 0; way < N_WAYS; way++) {
		struct slot *s = slot_of(p, hash, way);
		if (!s->bytes) {
			return s;
		}
		best = best->is_used && !s->is_used ? s : best;
	}
	return best;
}

/* Two threads may have made the same: the first one's stays. */
static void part_add(struct part *p, uint64_t hash, struct bytes *message, size_t max_bytes)
{
	if (message->n > max_bytes || part_find(p, hash)) {
		return;
	}
	if (!p->slots) {
		p->slots = mem_zalloc(N_SLOTS * sizeof(*p->slots));
	}
	struct slot *s = part_choose(p, hash);
	slot_clear(p, s);
	*s = (struct slot){.hash = hash, .bytes = bytes_ref(message), .is_used = true};
	p->n_bytes += message->n;
	part_make_room(p, max_bytes);
}

/* ---- making one ---- */

/* As JSON it is there already, whatever the door. */
static bool item_text(struct buf *out, const struct cached *o, const struct door *d, enum protobuf_part part, struct arena *a)
{
	static const struct media plain = {.format = MEDIA_JSON};

	if (part == PROTOBUF_METADATA) {
		return partial_object(out, &plain, o, d);
	}
	return buf_addc(out, '{') && buf_add_str(out, show_body(o, d, a));
}

struct bytes *protobuf_item_make(const struct cached *o, const struct door *d, enum protobuf_part part)
{
	static const struct str metadata_version = {"meta.k8s.io/v1", 14}, metadata_kind = {"PartialObjectMetadata", 21};
	struct bytes *message = NULL;
	struct protobuf_out out;
	struct arena a;
	struct buf text;
	struct json *object;
	size_t at;

	arena_init(&a, SCRATCH);
	buf_init(&text, RESPONSE_CEILING);
	protobuf_out_init(&out, RESPONSE_CEILING);
	const struct type *type =
		part == PROTOBUF_METADATA ? protobuf_type_of(metadata_version, metadata_kind, &a) : door_type(o->kind, d);
	if (item_text(&text, o, d, part, &a) && json_parse(&object, &a, buf_str(&text), object_stored_limits(), &at) == 0) {
		protobuf_put_object(&out, type, object);
		message = out.is_over ? NULL : bytes_dup(protobuf_out_str(&out));
	}
	protobuf_out_done(&out);
	buf_done(&text);
	arena_done(&a);
	return message;
}

struct bytes *protobuf_items_get(
	struct protobuf_items *p, const struct cached *o, const struct door *d, enum protobuf_part part)
{
	uint64_t hash = item_hash(o, d, part);
	struct part *place = part_of(p, hash);
	struct bytes *message = NULL;

	pthread_mutex_lock(&place->lock);
	struct slot *found = part_find(place, hash);
	if (found) {
		message = bytes_ref(found->bytes);
		found->is_used = true;
		place->n_found++;
	}
	pthread_mutex_unlock(&place->lock);
	if (message) {
		return message;
	}

	message = protobuf_item_make(o, d, part);
	if (message) {
		pthread_mutex_lock(&place->lock);
		place->n_made++;
		part_add(place, hash, message, p->max_bytes);
		pthread_mutex_unlock(&place->lock);
	}
	return message;
}
