/* What both ways of asking share: labels of the namespace, matching, and what an answer leaves
 * behind. Labels are looked up when the first webhook needs them, and kept: all webhooks of a
 * round see the same. A round keeps the set it began with, whatever happens to configurations
 * meanwhile. */
#include "delegation/webhooks/webhook_round.h"

#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "client/rest.h"
#include "delegation/webhooks/webhook_match.h"

enum {
	NAMESPACE_MAX = 4 << 20, /* bytes */
	PATH_MAX_BYTES = 4096,
	WARNINGS_MAX = 1024, /* of one question; a header has room for much less */
	ANNOTATIONS_MAX = 1024,
};

struct webhook_round *round_new(const struct webhook_means *means, struct webhook_question *q)
{
	struct webhook_round *r = mem_new(struct webhook_round);
	r->means = means;
	r->q = q;
	r->object = q->object;
	list_init(&r->link);
	buf_init(&r->get_text, NAMESPACE_MAX);
	return r;
}

struct webhook_round *round_free(struct webhook_round *r)
{
	if (r) {
		if (r->free_own) {
			r->free_own(r);
		}
		buf_done(&r->get_text);
		mem_free(r->get_path);
		item_unref(r->ns);
		webhook_set_unref(r->set);
		mem_free(r);
	}
	return NULL;
}

/* ---- labels of the namespace ---- */

static void take_labels(struct webhook_round *r, const struct json *ns)
{
	r->n_labels = labels_read(&r->labels, json_gets(json_gets(ns, "metadata"), "labels"), r->q->base.arena);
	r->has_labels = true;
}

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct webhook_round *r = container_of(x, struct webhook_round, get);
	return buf_add_str(&r->get_text, bytes);
}

static void read_namespace(struct webhook_round *r)
{
	struct arena *a = r->q->base.arena;
	struct json *ns = NULL;
	size_t at;
	bool is_read = r->get.result == EXCHANGE_OK && json_parse(&ns, a, buf_str(&r->get_text), JSON_LIMITS_DEFAULT, &at) == 0;
	r->has_labels = true;
	status_init(&r->labels_problem, a);
	if (is_read && r->get.code == 200) {
		take_labels(r, ns);
	} else if (is_read && r->get.code == 404) {
		status_not_found(&r->labels_problem, STR(""), STR("namespaces"), r->q->ns);
	} else {
		struct str said = is_read ? member_text(ns, "message") : str_of(r->get.problem);
		status_internal(&r->labels_problem, "Get \"%s\": " STR_FMT, r->get_path, STR_ARG(said));
	}
}

static void on_namespace(struct exchange *x)
{
	struct webhook_round *r = container_of(x, struct webhook_round, get);
	read_namespace(r);
	if (r->go_on(r)) {
		r->on_end(r);
	}
}

/* The informer may be behind. Nothing may be touched afterwards. */
static void get_namespace(struct webhook_round *r)
{
	static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};
	int64_t left_ms = r->q->base.deadline_ms - clock_mono_ms();
	struct buf path;
	buf_init(&path, PATH_MAX_BYTES);
	target_path(&path, &(struct target){&namespaces, .name = r->q->ns});
	r->get_path = buf_take(&path, NULL);
	r->get = (struct exchange){.method = "GET",
		.path = r->get_path,
		.timeout_ms = MAX(left_ms, 1),
		.on_bytes = on_bytes,
		.on_done = on_namespace};
	exchange_start(r->means->client, &r->get);
}

/* False: they are under way. */
static bool need_labels(struct webhook_round *r)
{
	if (!r->has_labels) {
		r->ns = r->means->get_namespace ? r->means->get_namespace(r->means->namespace_ctx, r->q->ns) : NULL;
		if (!r->ns) {
			get_namespace(r);
			return false;
		}
		take_labels(r, r->ns->object);
	}
	return true;
}

/* ---- matching ---- */

static enum round_match refuse(struct webhook_round *r, const struct status *st)
{
	r->q->st = *st;
	return ROUND_REFUSED;
}

static enum round_match refuse_selector(struct webhook_round *r, struct str problem)
{
	status_init(&r->q->st, r->q->base.arena);
	status_internal(&r->q->st, STR_FMT, STR_ARG(problem));
	return ROUND_REFUSED;
}

static enum round_match match_namespace(struct webhook_round *r, const struct webhook *h)
{
	if (!webhook_looks_at_namespace(h, r->q)) {
		return ROUND_YES;
	}
	if (h->namespaces.problem.n) {
		return refuse_selector(r, h->namespaces.problem);
	}
	if (!need_labels(r)) {
		return ROUND_WAITS;
	}
	if (r->labels_problem.code) {
		return refuse(r, &r->labels_problem);
	}
	return webhook_selects(&h->namespaces, r->labels, r->n_labels) ? ROUND_YES : ROUND_NO;
}

/* Objects before namespaces: a namespace that is not there matters only to webhooks that would look at this object. */
enum round_match round_match(struct webhook_round *r, const struct webhook *h, const struct door **ret)
{
	*ret = webhook_door(h, r->q);
	if (!*ret) {
		return ROUND_NO;
	}
	if (!h->objects.problem.n && !webhook_selects_object(h, r->object, r->q->old, r->q->base.arena)) {
		return ROUND_NO;
	}
	enum round_match match = match_namespace(r, h);
	return match == ROUND_YES && h->objects.problem.n ? refuse_selector(r, h->objects.problem) : match;
}

/* ---- answers ---- */

/* Room for one more in a list in the arena, or NULL. */
static void *grown(struct arena *a, void *list, size_t n, size_t *cap, size_t max, size_t size)
{
	if (n < *cap || n == max) {
		return n < max ? list : NULL;
	}
	*cap = *cap ? 2 * *cap : 8;
	void *more = arena_zalloc_array(a, *cap, size);
	return n ? memcpy(more, list, n * size) : more;
}

static void warn(struct webhook_round *r, struct str text)
{
	struct webhook_question *q = r->q;
	struct str *list = grown(q->base.arena, q->warnings, q->n_warnings, &r->cap_warnings, WARNINGS_MAX, sizeof(*list));
	if (list) {
		q->warnings = list;
		list[q->n_warnings++] = text;
	}
}

void round_annotate(struct webhook_round *r, struct str key, struct str value)
{
	struct webhook_question *q = r->q;
	struct arena *a = q->base.arena;
	struct user_extra *list =
		grown(a, q->annotations, q->n_annotations, &r->cap_annotations, ANNOTATIONS_MAX, sizeof(*list));
	if (list) {
		q->annotations = list;
		list[q->n_annotations++] = (struct user_extra){arena_dup(a, key), arena_dup(a, value)};
	}
}

static bool has_annotation(const struct webhook_round *r, struct str key)
{
	for (size_t i = 0; i < r->q->n_annotations; i++) {
		if (str_eq(r->q->annotations[i].key, key)) {
			return true;
		}
	}
	return false;
}

/* The webhook's own annotations: NAME/KEY; the first of a key stays. */
static void annotate_for(struct webhook_round *r, const struct webhook *h, const struct json *annotations)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	for (uint32_t i = 0; json_is(annotations, JSON_OBJECT) && i < annotations->n; i++) {
		struct str name = annotations->members[i].name;
		struct str key = arena_printf(r->q->base.arena, STR_FMT "/" STR_FMT, STR_ARG(h->name), STR_ARG(name));
		if (!validate_qualified_name(key, messages) && !has_annotation(r, key)) {
			round_annotate(r, key, json_text(annotations->members[i].value));
		}
	}
}

static void keep_words(struct webhook_round *r, const struct webhook_call *c)
{
	const struct json *warning;
	annotate_for(r, c->hook, c->answer.annotations);
	for (uint32_t i = 0; (warning = list_item(c->answer.warnings, i)); i++) {
		warn(r, json_text(warning));
	}
}

static bool has_time(struct webhook_round *r)
{
	if (clock_mono_ms() < r->q->base.deadline_ms) {
		return true;
	}
	status_init(&r->q->st, r->q->base.arena);
	status_set(&r->q->st, 504, REASON_TIMEOUT, "Timeout: request did not complete within requested timeout");
	r->q->st.has_details = true;
	return false;
}

bool round_take(struct webhook_round *r, const struct webhook_call *c, const char *fail_open_key)
{
	if (c->is_stopped) {
		r->q->base.failure = STR("this server is stopping");
		return false;
	}
	keep_words(r, c);
	webhook_metrics_count(r->means->metrics, c->hook, r->q, &c->answer, c->duration_ns);
	if (c->answer.outcome == OUTCOME_ALLOWED) {
		return true;
	}
	if (c->answer.outcome == OUTCOME_FAILED && c->hook->ignores_failure) {
		round_annotate(r, str_of(fail_open_key), c->hook->name);
		return has_time(r);
	}
	r->q->st = c->answer.status;
	return false;
}
