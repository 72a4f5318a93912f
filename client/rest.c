/* Requests for threads that may block, built on exchanges. The caller's thread waits on a
 * condition of its own call. Only 429 and 503 with Retry-After are tried again, since with both
 * the server says that nothing was done. After a lost connection, only the caller knows whether
 * to repeat a write. */
#include "client/rest.h"

#include "api/model/members.h"

#include <assert.h>
#include <pthread.h>

enum {
	ANSWER_MAX = 256 << 20, /* bytes of text */
	TREE_MAX = 1 << 30,     /* bytes of JSON tree */
	VALUES_MAX = 16 << 20,  /* values in an answer; with more it is REST_TOO_BIG */
	DEPTH_MAX = 512,        /* levels in an answer; a deeper one cannot be read */
	TIMEOUT_MS = 30 * 1000,
	COLLECTION_TIMEOUT_MS = 70 * 1000, /* above the minute that a server gives itself */
	/* client-go's. */
	TRIES_MAX = 10,
	PAUSE_MAX_S = 60,
	BODY_MAX = 16 << 20, /* bytes of a request; a longer one is REST_TOO_BIG, and is not sent */
	/* Bytes of a continue token, which is the server's; a longer one is REST_TOO_BIG. */
	TOKEN_MAX = 64 * 1024,
	PATH_BYTES_MAX = 64 * 1024, /* of a request with its query; a longer one is REST_TOO_BIG */
};

/* ---- an answer ---- */

void answer_init(struct answer *a)
{
	*a = (struct answer){.retry_after_s = -1};
	arena_init(&a->arena, TREE_MAX);
}

void answer_done(struct answer *a)
{
	arena_done(&a->arena);
	answer_init(a);
}

bool answer_is(const struct answer *a, int code, const char *reason)
{
	return a->code == code && (!reason || str_is(a->reason, reason));
}

struct str answer_version(const struct answer *a)
{
	return json_text(json_gets(json_gets(a->body, "metadata"), "resourceVersion"));
}

bool answer_is_status(const struct answer *a)
{
	return str_is(json_text(json_gets(a->body, "kind")), "Status");
}

void answer_read_status(struct answer *a)
{
	if (answer_is_status(a)) {
		a->reason = json_text(json_gets(a->body, "reason"));
		a->message = json_text(json_gets(a->body, "message"));
	}
}

/* ---- a call ---- */

/* One try, and the thread that waits for it. */
struct call {
	struct exchange x;
	struct buf text;
	/* Guards only is_done, for one waiting thread and one on_done. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_done;
};

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct call *call = container_of(x, struct call, x);
	return buf_add_str(&call->text, bytes);
}

static void on_done(struct exchange *x)
{
	struct call *call = container_of(x, struct call, x);
	pthread_mutex_lock(&call->lock);
	call->is_done = true;
	pthread_cond_signal(&call->wake);
	pthread_mutex_unlock(&call->lock);
}

static void try_once(struct client *c, struct call *call)
{
	call->is_done = false;
	buf_clear(&call->text);
	exchange_start(c, &call->x);
	pthread_mutex_lock(&call->lock);
	while (!call->is_done) {
		pthread_cond_wait(&call->wake, &call->lock);
	}
	pthread_mutex_unlock(&call->lock);
}

/* Retry-After says that the server has done nothing, so any verb may be sent again. client-go
 * does so, too. */
static bool is_turned_away(const struct exchange *x)
{
	return x->result == EXCHANGE_OK && (x->code == 429 || x->code == 503) && x->retry_after_s >= 0;
}

static int read_body(struct answer *a, struct str text)
{
	size_t at;
	const struct json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
	if (!text.n) {
		return 0;
	}
	int r = json_parse(&a->body, &a->arena, arena_dup(&a->arena, text), limits, &at);
	if (r == JSON_E_FULL || r == JSON_E_VALUES) {
		return REST_TOO_BIG;
	}
	return r ? REST_GARBLED : 0;
}

/* Reads an answer that is no Status, such as a proxy's page or a bare 404. */
static void read_text(struct answer *a, struct str text)
{
	/* An error page may be long; the message takes only its first words. */
	enum { SHOWN = 200 };
	struct str shown = {text.p, MIN(text.n, (size_t)SHOWN)};
	a->body = NULL;
	a->message = shown.n ? arena_dup(&a->arena, str_trim(shown)) : arena_printf(&a->arena, "status code %d", a->code);
}

static int read_answer(struct answer *a, const struct call *call)
{
	const struct exchange *x = &call->x;
	/* An answer that broke off proves nothing, so not even its code counts. */
	a->code = x->result == EXCHANGE_OK ? x->code : 0;
	a->retry_after_s = x->retry_after_s;
	a->content_type = arena_dup(&a->arena, str_of(x->answer_type));
	a->message = arena_dup(&a->arena, str_of(x->problem));
	switch (x->result) {
	case EXCHANGE_OK:
		break;
	case EXCHANGE_REFUSED:
		return REST_TOO_BIG;
	case EXCHANGE_STOPPED:
	case EXCHANGE_CANCELLED:
		return REST_STOPPED;
	case EXCHANGE_UNREACHABLE:
	case EXCHANGE_TIMEOUT:
		return REST_UNREACHABLE;
	}

	int r = read_body(a, buf_str(&call->text));
	if (a->code >= 200 && a->code < 300) {
		return r;
	}
	if (r) {
		read_text(a, buf_str(&call->text));
	}
	answer_read_status(a);
	return REST_STATUS;
}

static int64_t timeout_of(const struct client *c, const struct rest_call *q)
{
	int64_t wanted_ms = client_request_timeout_ms(c);
	if (wanted_ms) {
		return wanted_ms == CLIENT_NO_TIMEOUT ? 0 : wanted_ms;
	}
	return q->timeout_ms ? q->timeout_ms : TIMEOUT_MS;
}

static void call_init(struct call *call, const struct client *c, const struct rest_call *q)
{
	*call = (struct call){
		.x = {.method = q->method,
			.path = q->path,
			.accept = q->accept,
			.content_type = q->content_type,
			.body = q->body,
			.timeout_ms = timeout_of(c, q),
			.on_bytes = on_bytes,
			.on_done = on_done},
	};
	buf_init(&call->text, ANSWER_MAX);
	pthread_mutex_init(&call->lock, NULL);
	pthread_cond_init(&call->wake, NULL);
}

int rest_do(struct client *c, const struct rest_call *q, struct answer *ret)
{
	assert(q->method && q->path && !client_is_this_thread(c));
	struct call call;
	call_init(&call, c, q);
	try_once(c, &call);
	for (unsigned i = 1; !q->is_single && i < TRIES_MAX && is_turned_away(&call.x); i++) {
		if (!client_sleep(c, MIN(call.x.retry_after_s, (int64_t)PAUSE_MAX_S) * 1000)) {
			break;
		}
		try_once(c, &call);
	}
	arena_clear(&ret->arena);
	ret->body = NULL;
	ret->reason = (struct str){NULL, 0};
	int r = read_answer(ret, &call);
	pthread_cond_destroy(&call.wake);
	pthread_mutex_destroy(&call.lock);
	buf_done(&call.text);
	return r;
}

/* ---- paths ---- */

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
}

static bool escape(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] && is_unreserved(s.p[i])) {
			buf_addc(out, s.p[i]);
		} else {
			buf_printf(out, "%%%02X", (unsigned)(unsigned char)s.p[i]);
		}
	}
	return !out->is_over;
}

static void add_segment(struct buf *out, struct str s)
{
	buf_addc(out, '/');
	escape(out, s);
}

bool target_path(struct buf *out, const struct target *t)
{
	const struct resource *r = t->resource;
	buf_adds(out, r->group.n ? "/apis" : "/api");
	if (r->group.n) {
		add_segment(out, r->group);
	}
	add_segment(out, r->version);
	if (t->namespace.n) {
		BUF_LITERAL(out, "/namespaces");
		add_segment(out, t->namespace);
	}
	add_segment(out, r->plural);
	if (t->name.n) {
		add_segment(out, t->name);
	}
	if (t->subresource) {
		add_segment(out, str_of(t->subresource));
	}
	return !out->is_over;
}

bool query_add(struct buf *out, const char *name, struct str value)
{
	if (!value.n) {
		return !out->is_over;
	}
	buf_addc(out, memchr(out->p, '?', out->n) ? '&' : '?');
	buf_adds(out, name);
	buf_addc(out, '=');
	return escape(out, value);
}

/* ---- verbs ---- */

#define ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define ACCEPT_METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

static int call_target(struct client *c, const struct target *t, struct rest_call q, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, PATH_BYTES_MAX);
	if (!target_path(&path, t)) {
		return REST_TOO_BIG;
	}
	q.path = path.p;
	return rest_do(c, &q, ret);
}

static int call_with_object(
	struct client *c, const struct target *t, struct rest_call q, const struct json *object, struct answer *ret)
{
	_cleanup_(buf_done) struct buf body;
	buf_init(&body, BODY_MAX);
	if (!json_encode(&body, object)) {
		return REST_TOO_BIG;
	}
	q.body = buf_str(&body);
	return call_target(c, t, q, ret);
}

/* Gets an object and checks its name: a proxy may answer 200 with something else, such as a
 * login page or an empty object. */
static int rest_get_as(struct client *c, const struct target *t, const char *accept, struct answer *ret)
{
	int r = call_target(c, t, (struct rest_call){.method = "GET", .accept = accept}, ret);
	if (!r && !str_eq(json_text(json_gets(json_gets(ret->body, "metadata"), "name")), t->name)) {
		ret->message = STR("the answer is not the object that was asked for");
		return REST_GARBLED;
	}
	return r;
}

int rest_get(struct client *c, const struct target *t, struct answer *ret)
{
	return rest_get_as(c, t, NULL, ret);
}

int rest_get_metadata(struct client *c, const struct target *t, struct answer *ret)
{
	return rest_get_as(c, t, ACCEPT_METADATA, ret);
}

/* ---- absence ---- */

/* An API server built on client-go may ask another server and pass on its bare 404 as a Status
 * of its own. That Status names the object, but this cause shows that the 404 itself did not. */
static bool is_made_up(const struct json *details)
{
	const struct json *causes = json_gets(details, "causes"), *cause;
	bool is_found = false;
	for (uint32_t i = 0; !is_found && (cause = list_item(causes, i)); i++) {
		is_found = str_is(json_text(json_gets(cause, "reason")), "UnexpectedServerResponse");
	}
	return is_found;
}

/* The group is not compared: events and others are served in several groups, and the answer
 * names one of them. */
static bool names(const struct json *details, struct str plural, struct str name)
{
	struct str kind = json_text(json_gets(details, "kind")), of;
	bool is_kind = str_eq(kind, plural) || (str_cut(kind, '/', &of, &(struct str){NULL, 0}) && str_eq(of, plural));
	return is_kind && name.n && str_eq(json_text(json_gets(details, "name")), name);
}

bool answer_is_absent(const struct answer *a, const struct target *t)
{
	const struct json *details = json_gets(a->body, "details");
	return answer_is(a, 404, "NotFound") && names(details, t->resource->plural, t->name) && !is_made_up(details);
}

bool answer_is_without_namespace(const struct answer *a, struct str namespace)
{
	static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};
	return answer_is_absent(a, &(struct target){.resource = &namespaces, .name = namespace});
}

static enum rest_found found(int error, const struct target *t, const struct answer *a)
{
	return !error ? REST_FOUND : error == REST_STATUS && answer_is_absent(a, t) ? REST_ABSENT : REST_UNKNOWN;
}

enum rest_found rest_find(struct client *c, const struct target *t, struct answer *ret)
{
	return found(rest_get(c, t, ret), t, ret);
}

enum rest_found rest_find_metadata(struct client *c, const struct target *t, struct answer *ret)
{
	return found(rest_get_metadata(c, t, ret), t, ret);
}

/* ---- writes ---- */

int rest_create(struct client *c, const struct target *t, const struct json *object, struct answer *ret)
{
	return call_with_object(c, t, (struct rest_call){.method = "POST"}, object, ret);
}

int rest_update(struct client *c, const struct target *t, const struct json *object, struct answer *ret)
{
	return call_with_object(c, t, (struct rest_call){.method = "PUT"}, object, ret);
}

int rest_patch(struct client *c, const struct target *t, const char *content_type, struct str patch, struct answer *ret)
{
	return call_target(c, t, (struct rest_call){.method = "PATCH", .content_type = content_type, .body = patch}, ret);
}

static void add_string(struct arena *a, struct json *object, const char *name, struct str value)
{
	if (value.n) {
		json_add(a, object, str_of(name), json_string(a, value));
	}
}

static const struct json *delete_body(struct arena *a, const struct delete_options *o)
{
	struct json *body = json_object(a);
	add_string(a, body, "kind", STR("DeleteOptions"));
	add_string(a, body, "apiVersion", STR("v1"));
	add_string(a, body, "propagationPolicy", str_of(o->propagation));
	if (o->grace_s >= 0) {
		json_add(a, body, STR("gracePeriodSeconds"), json_int(a, o->grace_s));
	}
	if (o->uid.n || o->resource_version.n) {
		struct json *preconditions = json_object(a);
		add_string(a, preconditions, "uid", o->uid);
		add_string(a, preconditions, "resourceVersion", o->resource_version);
		json_add(a, body, STR("preconditions"), preconditions);
	}
	return body;
}

int rest_delete(struct client *c, const struct target *t, const struct delete_options *options, struct answer *ret)
{
	const struct delete_options o = options ? *options : DELETE_OPTIONS_DEFAULT;
	struct arena a;
	_cleanup_(buf_done) struct buf path, body;
	buf_init(&path, PATH_BYTES_MAX);
	buf_init(&body, BODY_MAX);
	arena_init(&a, BODY_MAX);
	json_encode(&body, delete_body(&a, &o));
	arena_done(&a);
	target_path(&path, t);
	if (body.is_over || !query_add(&path, "labelSelector", o.label_selector)) {
		return REST_TOO_BIG;
	}
	return rest_do(c,
		&(struct rest_call){.method = "DELETE",
			.path = path.p,
			.body = buf_str(&body),
			/* The server deletes a collection object by object before it answers. */
			.timeout_ms = t->name.n ? 0 : COLLECTION_TIMEOUT_MS},
		ret);
}

static bool list_path(struct buf *path, const struct target *t, const struct list_options *o)
{
	target_path(path, t);
	query_add(path, "labelSelector", o->label_selector);
	query_add(path, "fieldSelector", o->field_selector);
	if (o->limit) {
		buf_printf(path, "%climit=%lld", memchr(path->p, '?', path->n) ? '&' : '?', (long long)o->limit);
	}
	if (o->continue_token.n) {
		return query_add(path, "continue", o->continue_token);
	}
	/* A continue token has a version of its own: servers refuse it together with
	 * resourceVersion. */
	query_add(path, "resourceVersion", o->resource_version);
	return query_add(path, "resourceVersionMatch", o->resource_version_match);
}

int rest_list(struct client *c, const struct target *t, const struct list_options *options, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, PATH_BYTES_MAX);
	if (!list_path(&path, t, options)) {
		return REST_TOO_BIG;
	}
	int r = rest_do(c,
		&(struct rest_call){
			.method = "GET", .path = path.p, .accept = options->metadata_only ? ACCEPT_METADATA_LIST : NULL},
		ret);
	/* An empty object is not an empty list. */
	if (!r && !json_gets(ret->body, "items")) {
		ret->message = STR("the answer is not a list");
		return REST_GARBLED;
	}
	return r;
}

struct str list_continue(const struct json *list)
{
	return json_text(json_gets(json_gets(list, "metadata"), "continue"));
}

static bool each_of_page(const struct json *list, bool (*each)(void *ctx, const struct json *object), void *ctx)
{
	const struct json *items = json_gets(list, "items"), *item;
	bool is_wanted = true;
	for (uint32_t i = 0; is_wanted && (item = list_item(items, i)); i++) {
		is_wanted = each(ctx, item);
	}
	return is_wanted;
}

int rest_each(struct client *c, const struct target *t, bool metadata_only, bool (*each)(void *ctx, const struct json *object),
	void *ctx, struct answer *ret)
{
	_cleanup_(buf_done) struct buf token;
	bool is_wanted;
	buf_init(&token, TOKEN_MAX);
	do {
		int r = rest_list(c, t,
			&(struct list_options){
				.limit = LIST_PAGE, .metadata_only = metadata_only, .continue_token = buf_str(&token)},
			ret);
		if (r) {
			return r;
		}
		is_wanted = each_of_page(ret->body, each, ctx);
		buf_clear(&token);
		if (!buf_add_str(&token, list_continue(ret->body))) {
			return REST_TOO_BIG; /* the list is not complete */
		}
	} while (is_wanted && token.n);
	return 0;
}
