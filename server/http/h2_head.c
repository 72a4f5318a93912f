/* The limit on a head counts each field as it comes, so a head that is packed small (a byte can stand for four KiB) costs no more
 * memory than any other. What is beyond the limit is counted on, but not kept. */
#include "server/http/h2_head.h"

enum { FIRST_FIELDS = 12 };

static void grow(struct h2_head *h, struct arena *a)
{
	size_t room = h->room ? MIN(h->room * 2, (size_t)H2_HEAD_FIELDS + 1) : FIRST_FIELDS;
	struct http_header *fields = arena_alloc(a, room * sizeof(*fields));
	if (h->n_fields) {
		memcpy(fields, h->fields, h->n_fields * sizeof(*fields));
	}
	h->fields = fields;
	h->room = room;
}

static void add_field(struct h2_head *h, struct arena *a, struct str name, struct str value)
{
	if (h->n_fields == h->room) {
		grow(h, a);
	}
	h->fields[h->n_fields++] = (struct http_header){name, value};
}

static void add_pseudo(struct h2_head *h, struct http_head *head, struct str name, struct str value)
{
	if (str_is(name, ":method")) {
		head->method = value;
	} else if (str_is(name, ":path")) {
		head->target = value;
	} else if (str_is(name, ":authority")) {
		h->authority = value;
	} else if (str_is(name, ":scheme")) {
		h->scheme = value;
	}
}

bool h2_head_add(struct h2_head *h, struct http_head *head, struct arena *a, struct str name, struct str value, size_t max)
{
	h->size += name.n + value.n + H2_HEAD_FIELD_COST;
	h->is_too_large |= h->size > max || h->n_fields == H2_HEAD_FIELDS;
	if (h->is_too_large) {
		return h->size <= 2 * max;
	}
	name = arena_dup(a, name);
	value = arena_dup(a, value);
	if (str_starts(name, STR(":"))) {
		add_pseudo(h, head, name, value);
	} else {
		h->has_host |= str_is(name, "host");
		add_field(h, a, name, str_trim(value));
	}
	return true;
}

static bool is_host(const struct http_header *field, struct str host)
{
	return !str_is(field->name, "host") || str_eq_nocase(field->value, host);
}

/* Handlers look for Host. Two that differ would be two servers. */
static bool settle_host(struct h2_head *h, struct arena *a)
{
	if (!h->authority.n) {
		return true;
	}
	if (!h->has_host) {
		add_field(h, a, STR("host"), h->authority);
		return true;
	}
	for (size_t i = 0; i < h->n_fields; i++) {
		if (!is_host(&h->fields[i], h->authority)) {
			return false;
		}
	}
	return true;
}

unsigned h2_head_finish(struct h2_head *h, struct http_head *head, struct arena *a, bool has_body, const char **ret_problem)
{
	head->framing.has_body = has_body;
	head->framing.is_head_request = str_is(head->method, "HEAD");
	if (h->is_too_large) {
		*ret_problem = "the request's head is too large";
		return 431;
	}
	if (str_is(head->method, "CONNECT")) {
		*ret_problem = "this is no proxy";
		return 400;
	}
	if (h->scheme.n && !str_eq_nocase(h->scheme, STR("https")) && !str_eq_nocase(h->scheme, STR("http"))) {
		*ret_problem = "unsupported scheme";
		return 400;
	}
	if (!settle_host(h, a)) {
		*ret_problem = "Host differs from the authority";
		return 400;
	}
	head->fields = h->fields;
	head->n_fields = h->n_fields;
	return http_head_judge(head, ret_problem);
}
