/* What a watch says, line by line. */
#include "client/reflector_private.h"

static int64_t status_code(const struct json *status)
{
	int64_t code = 0;
	json_to_int64(json_gets(status, "code"), &code);
	return code;
}

static uint64_t version_of(const struct json *object)
{
	uint64_t version = 0;
	str_to_uint64(json_text(json_gets(json_gets(object, "metadata"), "resourceVersion")), &version);
	return version;
}

static bool ends_initial_events(const struct json *bookmark)
{
	const struct json *annotations = json_gets(json_gets(bookmark, "metadata"), "annotations");
	return str_is(json_text(json_gets(annotations, "k8s.io/initial-events-end")), "true");
}

static bool on_bookmark(struct reflector *r, const struct json *bookmark)
{
	uint64_t version = version_of(bookmark), seen = atomic_load(&r->version);
	if (r->state == REFLECTOR_WATCH) {
		atomic_store(&r->version, MAX(version, seen));
		return true;
	}
	if (!ends_initial_events(bookmark)) {
		return true;
	}
	client_timer_clear(&r->patience);
	if (version < seen) {
		reflector_tell(r, STR("the server's initial events are older than what was seen"));
		return false;
	}
	reflector_hand_over(r, version);
	r->state = REFLECTOR_WATCH;
	return true;
}

static bool on_error_event(struct reflector *r, const struct json *status)
{
	int code = (int)status_code(status);
	struct str message = json_text(json_gets(status, "message"));
	r->is_relist_needed = reflector_has_lost_history(r, code, status);
	if (r->is_relist_needed) {
		return false;
	}
	if (reflector_is_server_code(code)) {
		reflector_tell_of_server(r, message);
	} else {
		reflector_tell(r, message);
	}
	return false;
}

static bool tell_nameless(struct reflector *r)
{
	reflector_tell(r, STR("the server sent an object without name or resourceVersion"));
	return false;
}

static bool tell_older(struct reflector *r)
{
	reflector_tell(r, STR("the server sent an event older than one before"));
	return true;
}

static bool on_streamed(struct reflector *r, const struct json *object, bool is_gone)
{
	bool is_listed = r->state == REFLECTOR_WATCH_LIST;
	uint64_t version = version_of(object);

	if (is_listed) {
		client_timer_set(r->options.client, &r->patience, REFLECTOR_PATIENCE_MS);
	} else if (version && version < atomic_load(&r->version)) {
		return tell_older(r);
	}
	if (!reflector_show(r, object, is_gone, is_listed)) {
		return tell_nameless(r);
	}
	if (!is_listed) {
		reflector_went_well(r);
		atomic_store(&r->version, version);
	}
	return true;
}

static bool on_initial_event(struct reflector *r, struct item *item, bool is_gone)
{
	client_timer_set(r->options.client, &r->patience, REFLECTOR_PATIENCE_MS);
	if (!is_gone) {
		return gathering_add(&r->fresh, item);
	}
	gathering_remove(&r->fresh, item);
	item_unref(item);
	return true;
}

static bool on_later_event(struct reflector *r, struct item *item, bool is_gone)
{
	if (item->version < atomic_load(&r->version)) {
		item_unref(item);
		return tell_older(r);
	}
	uint64_t version = item->version;
	reflector_went_well(r);
	r->sink.on_event(r->sink.ctx, item, is_gone);
	atomic_store(&r->version, version);
	return true;
}

static bool on_change(struct reflector *r, const struct json *object, bool is_gone)
{
	if (r->options.stream) {
		return on_streamed(r, object, is_gone);
	}
	struct item *item = reflector_make_item(r, object);
	if (!item) {
		return tell_nameless(r);
	}
	return r->state == REFLECTOR_WATCH_LIST ? on_initial_event(r, item, is_gone) : on_later_event(r, item, is_gone);
}

static bool on_event(struct reflector *r, const struct json *event)
{
	struct str type = json_text(json_gets(event, "type"));
	const struct json *object = json_gets(event, "object");
	if (!object) {
		reflector_tell(r, STR("the server sent an event that cannot be read"));
		return false;
	}
	if (str_is(type, "BOOKMARK")) {
		return on_bookmark(r, object);
	}
	if (str_is(type, "ERROR")) {
		return on_error_event(r, object);
	}
	return on_change(r, object, str_is(type, "DELETED"));
}

bool reflector_on_line(void *ctx, struct str line)
{
	struct reflector *r = ctx;
	arena_clear(&r->scratch);
	r->n_events++;
	return on_event(r, reflector_parse(&r->scratch, line));
}
