/* One audit event as a line of JSON, and the bodies in it. An event is written as text without a
 * tree: its members come in the order of the Go struct, and each audited request makes one.
 * Addresses and targets are spelled as Go's libraries spell them, so that logs of annals and of
 * kube-apiserver can be compared line by line. */
#include "server/audit/audit_event.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/yaml.h"
#include "server/audit/audit_body.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

/* ---- small pieces ---- */

/* ,"name":"text" */
static void add_text(struct buf *out, const char *name, struct str text)
{
	BUF_LITERAL(out, ",\"");
	buf_adds(out, name);
	BUF_LITERAL(out, "\":");
	json_encode_string(out, text);
}

static void add_text_if_any(struct buf *out, const char *name, struct str text)
{
	if (text.n > 0) {
		add_text(out, name, text);
	}
}

static void add_raw_if_any(struct buf *out, const char *name, struct str json)
{
	if (json.n > 0) {
		BUF_LITERAL(out, ",\"");
		buf_adds(out, name);
		BUF_LITERAL(out, "\":");
		buf_add_str(out, json);
	}
}

static void add_texts(struct buf *out, const char *name, const struct str *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i == 0) {
			BUF_LITERAL(out, ",\"");
			buf_adds(out, name);
			BUF_LITERAL(out, "\":[");
		} else {
			buf_addc(out, ',');
		}
		json_encode_string(out, v[i]);
	}
	if (n > 0) {
		buf_addc(out, ']');
	}
}

/* Closes an object whose members begin at `start`, each with a comma before it: the first comma
 * becomes the brace. */
static void close_object(struct buf *out, size_t start)
{
	if (out->n > start && !out->is_over) {
		out->p[start] = '{';
	} else {
		buf_addc(out, '{');
	}
	buf_addc(out, '}');
}

static void add_time(struct buf *out, const char *name, int64_t wall_us)
{
	char time[TIME_RFC3339_MICRO_SIZE];

	time_format_rfc3339_micro(time, wall_us);
	add_text(out, name, str_of(time));
}

/* ---- members ---- */

static int extra_cmp(const void *a, const void *b)
{
	const struct user_extra *const *x = a, *const *y = b;
	int r = str_cmp((*x)->key, (*y)->key);

	return r ? r : (*x > *y) - (*x < *y);
}

/* Keys sorted, values of one key in their order. */
static void add_extra(struct buf *out, const struct user *u)
{
	const struct user_extra **sorted = mem_array(u->n_extra, sizeof(*sorted));

	for (size_t i = 0; i < u->n_extra; i++) {
		sorted[i] = &u->extra[i];
	}
	qsort(sorted, u->n_extra, sizeof(*sorted), extra_cmp);
	BUF_LITERAL(out, ",\"extra\":{");
	for (size_t i = 0; i < u->n_extra; i++) {
		bool is_same = i > 0 && str_eq(sorted[i]->key, sorted[i - 1]->key);
		if (!is_same) {
			buf_adds(out, i > 0 ? "]," : "");
			json_encode_string(out, sorted[i]->key);
			BUF_LITERAL(out, ":[");
		} else {
			buf_addc(out, ',');
		}
		json_encode_string(out, sorted[i]->value);
	}
	BUF_LITERAL(out, "]}");
	mem_free(sorted);
}

static void add_user(struct buf *out, const char *name, const struct user *u)
{
	buf_printf(out, ",\"%s\":", name);
	size_t start = out->n;
	if (u) {
		add_text_if_any(out, "username", u->name);
		add_text_if_any(out, "uid", u->uid);
		add_texts(out, "groups", u->groups, u->n_groups);
		if (u->n_extra > 0) {
			add_extra(out, u);
		}
	}
	close_object(out, start);
}

static void add_object(struct buf *out, const struct audit_object *o)
{
	BUF_LITERAL(out, ",\"objectRef\":");
	size_t start = out->n;
	add_text_if_any(out, "resource", o->resource);
	add_text_if_any(out, "namespace", o->ns);
	add_text_if_any(out, "name", o->name);
	add_text_if_any(out, "uid", o->uid);
	add_text_if_any(out, "apiGroup", o->group);
	add_text_if_any(out, "apiVersion", o->version);
	add_text_if_any(out, "resourceVersion", o->resource_version);
	add_text_if_any(out, "subresource", o->subresource);
	close_object(out, start);
}

static void add_annotations(struct buf *out, const struct audit_event *e)
{
	if (e->n_annotations == 0) {
		return;
	}
	BUF_LITERAL(out, ",\"annotations\":");
	size_t start = out->n;
	for (size_t i = 0; i < e->n_annotations; i++) {
		add_text(out, e->annotations[i].key, e->annotations[i].value);
	}
	close_object(out, start);
}

bool audit_event_encode(struct buf *out, const struct audit_event *e)
{
	assert(e->level < AUDIT_LEVELS && e->stage < AUDIT_STAGES && e->n_annotations <= AUDIT_ANNOTATIONS_MAX);
	BUF_LITERAL(out, "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\"");
	add_text(out, "level", str_of(audit_level_names[e->level]));
	add_text(out, "auditID", e->id);
	add_text(out, "stage", str_of(audit_stage_names[e->stage]));
	add_text(out, "requestURI", e->uri);
	add_text(out, "verb", e->verb);
	add_user(out, "user", e->user);
	if (e->impersonated) {
		add_user(out, "impersonatedUser", e->impersonated);
	}
	add_texts(out, "sourceIPs", e->source_ips, e->n_source_ips);
	add_text_if_any(out, "userAgent", e->user_agent);
	if (e->object) {
		add_object(out, e->object);
	}
	if (e->has_status) {
		BUF_LITERAL(out, ",\"responseStatus\":{\"metadata\":{},");
		buf_add_str(out, e->status);
		BUF_LITERAL(out, "\"code\":");
		buf_add_int(out, e->code);
		buf_addc(out, '}');
	}
	add_raw_if_any(out, "requestObject", e->request_object);
	add_raw_if_any(out, "responseObject", e->response_object);
	add_time(out, "requestReceivedTimestamp", e->received_us);
	add_time(out, "stageTimestamp", e->stage_us);
	add_annotations(out, e);
	return BUF_LITERAL(out, "}\n");
}

void audit_event_annotate(struct audit_event *e, const char *key, struct str value)
{
	for (size_t k = 0; k < e->n_annotations; k++) {
		if (strcmp(e->annotations[k].key, key) == 0) {
			return;
		}
	}
	size_t i = e->n_annotations++;
	assert(i < AUDIT_ANNOTATIONS_MAX);
	for (; i > 0 && strcmp(e->annotations[i - 1].key, key) > 0; i--) {
		e->annotations[i] = e->annotations[i - 1];
	}
	e->annotations[i] = (struct audit_annotation){key, value};
}

/* ---- what a request says about itself ---- */

/* X-Forwarded-For is the client's: a head of 31 KiB could name thousands. ADDRESS_MAX: more than
 * any address has in text. */
enum { SOURCE_IPS_MAX = 64, ADDRESS_MAX = 64 };

struct sources {
	struct str *v;
	size_t n;
};

/* Leading zeroes are no octal numbers (net.ParseIP of old). */
static struct str without_zeroes(struct str text, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		bool is_first = n == 0 || out[n - 1] == '.';
		bool is_padding = is_first && text.p[i] == '0' && i + 1 < text.n && text.p[i + 1] != '.';
		if (!is_padding) {
			out[n++] = text.p[i];
		}
	}
	out[n] = '\0';
	return (struct str){out, n};
}

/* Returns an address as Go writes it (IPv4 within IPv6 as IPv4); empty when it is none. */
static struct str parse_ip(struct str text, struct arena *a)
{
	char plain[ADDRESS_MAX], shown[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	struct in_addr v4;

	text = str_trim(text);
	if (text.n == 0 || text.n >= sizeof(plain) || memchr(text.p, '\0', text.n)) {
		return STR("");
	}
	if (memchr(text.p, ':', text.n)) {
		memcpy(plain, text.p, text.n);
		plain[text.n] = '\0';
		if (inet_pton(AF_INET6, plain, &v6) != 1) {
			return STR("");
		}
		if (IN6_IS_ADDR_V4MAPPED(&v6)) {
			inet_ntop(AF_INET, &v6.s6_addr[12], shown, sizeof(shown));
		} else {
			inet_ntop(AF_INET6, &v6, shown, sizeof(shown));
		}
		return arena_dup(a, str_of(shown));
	}
	without_zeroes(text, plain);
	if (inet_pton(AF_INET, plain, &v4) != 1) {
		return STR("");
	}
	inet_ntop(AF_INET, &v4, shown, sizeof(shown));
	return arena_dup(a, str_of(shown));
}

static bool sources_has(const struct sources *s, struct str ip)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->v[i], ip)) {
			return true;
		}
	}
	return false;
}

static void sources_add(struct sources *s, struct str ip)
{
	if (ip.n > 0 && s->n < SOURCE_IPS_MAX) {
		s->v[s->n++] = ip;
	}
}

/* "127.0.0.1:4000" or "[::1]:4000", without the port. */
static struct str host_of(struct str peer)
{
	size_t n = peer.n;

	while (n > 0 && peer.p[n - 1] != ':') {
		n--;
	}
	struct str host = {peer.p, n > 0 ? n - 1 : 0};
	if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
		host = (struct str){host.p + 1, host.n - 2};
	}
	return host;
}

size_t audit_source_ips(const struct str **ret, struct str forwarded_for, struct str real_ip, struct str peer, struct arena *a)
{
	struct sources s = {arena_array(a, struct str, forwarded_for.n > 0 ? SOURCE_IPS_MAX + 1 : 2), 0};
	struct str head, rest = forwarded_for;

	while (rest.n > 0) {
		str_cut(rest, ',', &head, &rest);
		sources_add(&s, parse_ip(head, a));
	}
	struct str ip = parse_ip(real_ip, a);
	if (!sources_has(&s, ip)) {
		sources_add(&s, ip);
	}
	ip = parse_ip(host_of(peer), a);
	/* The peer is always named, even beyond the limit: it is the one address that no client
	 * chose. */
	if (ip.n > 0 && (s.n == 0 || !str_eq(s.v[s.n - 1], ip))) {
		s.v[s.n++] = ip;
	}
	assert(s.n <= (forwarded_for.n > 0 ? SOURCE_IPS_MAX + 1 : 2));
	*ret = s.v;
	return s.n;
}

/* Returns true for characters that net/url leaves alone in a path that came escaped. */
static bool may_stand(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("-_.~!$&'()*+,;=:@[]/%", c));
}

struct str audit_uri(struct str target, struct arena *a)
{
	static const char hex[] = "0123456789ABCDEF";
	struct str path, query;
	size_t n_odd = 0, n = 0;

	str_cut(target, '?', &path, &query);
	for (size_t i = 0; i < path.n; i++) {
		n_odd += !may_stand((unsigned char)path.p[i]);
	}
	if (n_odd == 0) {
		return target;
	}
	char *out = arena_text(a, target.n + 2 * n_odd);
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];
		if (may_stand(c)) {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	memcpy(out + n, target.p + path.n, target.n - path.n);
	assert(n == path.n + 2 * n_odd);
	return (struct str){out, n + target.n - path.n};
}

/* ---- bodies ---- */

/* Trees of requests and answers are shared with their other users. So a tree that is shown without
 * some members is copied, but only along the path to the change (base/json.h). */

static struct json *strip_object(struct arena *a, struct json *object)
{
	struct json *meta = json_gets(object, "metadata");

	if (!json_is(meta, JSON_OBJECT) || !json_gets(meta, "managedFields")) {
		return object;
	}
	object = json_copy(a, object);
	meta = json_copy(a, meta);
	json_remove(meta, STR("managedFields"));
	json_set(a, object, STR("metadata"), meta);
	return object;
}

static struct json *strip_row(struct arena *a, struct json *row)
{
	struct json *object = json_gets(row, "object"), *plain = strip_object(a, object);

	if (plain != object) {
		row = json_copy(a, row);
		json_set(a, row, STR("object"), plain);
	}
	return row;
}

/* Strips each element of the list `name` in j. */
static struct json *strip_list(
	struct arena *a, struct json *j, const char *name, struct json *(*strip)(struct arena *a, struct json *element))
{
	struct json *list = json_gets(j, name);

	if (!json_is(list, JSON_ARRAY)) {
		return j;
	}
	list = json_copy(a, list);
	for (uint32_t i = 0; i < list->n; i++) {
		list->items[i] = strip(a, list->items[i]);
	}
	j = json_copy(a, j);
	json_set(a, j, str_of(name), list);
	return j;
}

struct json *audit_without_managed_fields(struct arena *a, struct json *j)
{
	j = strip_object(a, j);
	j = strip_list(a, j, "items", strip_object);
	return strip_list(a, j, "rows", strip_row);
}

void audit_patch_body(struct buf *out, struct str body, bool is_yaml, struct arena *a)
{
	struct json *j;
	struct str error;
	size_t at;

	if (json_parse(&j, a, body, JSON_LIMITS_DEFAULT, &at) == 0) {
		json_compact(out, body);
	} else if (!is_yaml || yaml_to_json(out, body, YAML_LIMITS_DEFAULT, a, &error, NULL)) {
		buf_clear(out);
		json_encode_string(out, body);
	}
}

struct json *audit_delete_options(struct arena *a, const struct json *body)
{
	static const char *const members[] = {"gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy",
		"dryRun", "ignoreStoreReadErrorWithClusterBreakingPotential"};
	struct json *j = json_object(a);

	json_add(a, j, STR("kind"), json_string(a, STR("DeleteOptions")));
	json_add(a, j, STR("apiVersion"), json_string(a, STR("meta.k8s.io/__internal")));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		struct json *value = json_gets(body, members[i]);
		if (value && !json_is(value, JSON_NULL)) {
			json_add(a, j, str_of(members[i]), value);
		}
	}
	return j;
}
