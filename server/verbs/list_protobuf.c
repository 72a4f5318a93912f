/* Protobuf says how long a list is before it begins. So all its messages are made first, and their lengths kept; of the messages
 * themselves as many as may be held. The others are found again, or made again, while the list is sent: a list of any length costs a
 * bounded amount of memory. */
#include "server/verbs/list_protobuf.h"

#include "api/model/protobuf_write.h"
#include "server/parse/gzip.h"
#include "server/request/gzip_list.h"
#include "server/request/limits.h"
#include "server/request/protobuf_items.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"

enum {
	HELD_MAX = 4 << 20,  /* bytes of messages */
	HELD_MIN = 16 << 10, /* from there on they are charged for */
	HEAD_MAX = 12,       /* bytes before a message: number and length */
};

struct item {
	struct bytes *held; /* a reference, or NULL */
	size_t n;
};

struct protobuf_list {
	struct request *q;
	struct listing listing;
	enum protobuf_part part;
	unsigned number; /* of an item */
	struct item *items;
	size_t n_held;   /* bytes */
	struct str head; /* the envelope, and the list's own metadata, where that comes first */
	struct str tail;
	/* what is being written */
	struct str rest;
	struct bytes *message;
	char item_head[HEAD_MAX];
	size_t step; /* 0: the head; then two for each item; then the tail */
	bool is_gzip;
	struct gzip_form form;
	struct gzip_list gzip;
};

static struct bytes *list_message(const struct protobuf_list *l, size_t i)
{
	return protobuf_items_get(l->q->server->protobuf_items, l->listing.items[i], l->q->route.door, l->part);
}

/* The length of all items with what stands before each. False: one cannot be read. */
static bool list_measure(struct protobuf_list *l, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < l->listing.n_items; i++) {
		struct bytes *message = list_message(l, i);
		if (!message) {
			return false;
		}
		l->items[i].n = message->n;
		*ret += protobuf_head_size(message->n) + message->n;
		if (l->n_held + message->n <= HELD_MAX) {
			l->n_held += message->n;
			l->items[i].held = message;
		} else {
			bytes_unref(message);
		}
	}
	return true;
}

/* Lists of metadata alone had their numbers the other way round once. */
static void list_frame(struct protobuf_list *l, struct str metadata_json, uint64_t items_n)
{
	const struct media *m = &l->q->media;
	const bool is_partial = l->part == PROTOBUF_METADATA, is_behind = is_partial && m->is_v1beta1;
	struct arena *a = l->q->a;
	struct protobuf_out metadata, head;
	struct json *tree = NULL;
	size_t at;

	json_parse(&tree, a, metadata_json, BODY_JSON_LIMITS, &at);
	protobuf_out_init(&metadata, TEXT_MAX);
	protobuf_put_object(&metadata, &type_list_meta, tree);
	protobuf_put_head(&metadata, is_behind ? 2 : 1, protobuf_out_size(&metadata));

	protobuf_out_init(&head, TEXT_MAX);
	protobuf_put(&head, is_behind ? STR("") : protobuf_out_str(&metadata));
	protobuf_put_envelope_head(&head,
		is_partial ? str_of(m->is_v1beta1 ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1")
			   : door_api_version(l->q->route.door, a),
		is_partial ? STR("PartialObjectMetadataList") : str_of(l->q->route.kind->list_kind),
		items_n + protobuf_out_size(&metadata));
	l->head = arena_dup(a, protobuf_out_str(&head));
	protobuf_out_clear(&head);
	protobuf_put(&head, protobuf_envelope_tail);
	protobuf_put(&head, is_behind ? protobuf_out_str(&metadata) : STR(""));
	l->tail = arena_dup(a, protobuf_out_str(&head));
	protobuf_out_done(&head);
	protobuf_out_done(&metadata);
	l->number = is_behind ? 1 : PROTOBUF_LIST_ITEMS;
}

static void list_done(struct protobuf_list *l)
{
	for (size_t i = 0; i < l->listing.n_items; i++) {
		bytes_unref(l->items[i].held);
	}
	gzip_list_done(&l->gzip);
	l->message = bytes_unref(l->message);
	l->items = mem_free(l->items);
	listing_done(&l->listing);
}

/* ---- sending ---- */

static struct str item_head(struct protobuf_list *l, size_t n)
{
	size_t i = 0;

	l->item_head[i++] = (char)(l->number << 3 | 2);
	for (; n >= 0x80; n >>= 7) {
		l->item_head[i++] = (char)(n | 0x80);
	}
	l->item_head[i++] = (char)n;
	return (struct str){l->item_head, i};
}

/* False at the end, and where an item could not be made again. */
static bool list_next(struct protobuf_list *l)
{
	size_t step = l->step++, item = (step - 1) / 2;

	if (step == 0) {
		l->rest = l->head;
	} else if (item < l->listing.n_items && step % 2) {
		l->rest = item_head(l, l->items[item].n);
	} else if (item < l->listing.n_items) {
		bytes_unref(l->message);
		l->message = l->items[item].held ? take_ptr(l->items[item].held) : list_message(l, item);
		l->rest = bytes_str(l->message);
		return l->message && l->message->n == l->items[item].n;
	} else if (step == 2 * l->listing.n_items + 1) {
		l->rest = l->tail;
	} else {
		return false;
	}
	return true;
}

static size_t list_copy(struct protobuf_list *l, char *p, size_t max)
{
	size_t n = 0;

	while (n < max && (l->rest.n > 0 || list_next(l))) {
		size_t part = MIN(max - n, l->rest.n);
		if (part > 0) {
			memcpy(p + n, l->rest.p, part);
		}
		l->rest = (struct str){l->rest.p + part, l->rest.n - part};
		n += part;
	}
	return n;
}

static ssize_t list_read(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	(void)x;
	struct protobuf_list *l = ctx;
	size_t n = l->is_gzip ? gzip_list_read(&l->gzip, p, max) : list_copy(l, p, max);

	return n > 0 ? (ssize_t)n : -1;
}

static void list_closed(void *ctx, struct http_exchange *x)
{
	(void)x;
	list_done(ctx);
}

static const struct http_stream_ops list_stream_ops = {.read = list_read, .closed = list_closed};

/* ---- compressing ---- */

static size_t packed_size(void *ctx, size_t i)
{
	const struct protobuf_list *l = ctx;

	return protobuf_head_size(l->items[i].n) + l->items[i].n;
}

static bool packed_add(struct buf *out, void *ctx, size_t i)
{
	struct protobuf_list *l = ctx;
	_cleanup_(bytes_unrefp) struct bytes *message = l->items[i].held ? bytes_ref(l->items[i].held) : list_message(l, i);

	return message && message->n == l->items[i].n && buf_add_str(out, item_head(l, message->n)) &&
		buf_add_str(out, bytes_str(message));
}

/* In runs, which the next client finds, as those of lists in JSON. */
static void list_pack(struct protobuf_list *l)
{
	const struct route *r = &l->q->route;
	const size_t door = (size_t)(r->door - r->kind->doors);

	l->is_gzip = true;
	l->form = (struct gzip_form){
		.id = 1 + (door << 4 | l->number << 1 | (l->part == PROTOBUF_METADATA)),
		.size = packed_size,
		.add = packed_add,
		.ctx = l,
	};
	l->gzip = (struct gzip_list){
		.runs = l->q->server->gzip_runs,
		.head = l->head,
		.tail = l->tail,
		.door = r->door,
		.items = l->listing.items,
		.n_items = l->listing.n_items,
		.form = &l->form,
	};
}

void reply_listing_protobuf(struct request *q, struct listing *listing, struct str metadata_json)
{
	struct protobuf_list *l = arena_new(q->a, struct protobuf_list);
	uint64_t items_n;

	l->q = q;
	l->listing = *listing;
	l->part = q->media.as == AS_PARTIAL_LIST ? PROTOBUF_METADATA : PROTOBUF_WHOLE;
	l->items = mem_zalloc(MAX(l->listing.n_items, (size_t)1) * sizeof(*l->items));
	if (!list_measure(l, &items_n)) {
		status_internal(&q->st, "an object could not be decoded");
		list_done(l);
		reply_status(q);
		return;
	}
	list_frame(l, metadata_json, items_n);
	uint64_t length = l->head.n + items_n + l->tail.n;
	/* As of other answers, little is not counted, and writes have happened. */
	if (l->n_held >= HELD_MIN && request_charge(q, l->n_held) && q->class == CLASS_READ) {
		list_done(l);
		reply_status(q);
		return;
	}
	reply_headers(q, media_content_type(&q->media));
	if (q->media.accepts_gzip && length >= GZIP_MIN_BYTES) {
		list_pack(l);
		length = HTTP_LENGTH_UNKNOWN; /* nobody knows before all of it is compressed */
		http_add_header(q->x, "Content-Encoding", STR("gzip"));
		http_add_header(q->x, "Vary", STR("Accept-Encoding"));
	}
	http_reply_stream(q->x, 200, length, false, &list_stream_ops, l);
}
