/* The difference and the question go to standard error: standard output has the result alone, for
 * those who read it by a program. Without a terminal nobody is asked, as kubectl does it. */
#include "api/model/members.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_undo.h"

#include <stdlib.h>
#include <unistd.h>

enum { PATCH_MAX = 16 << 20 };

bool undo_is_dry(const struct kubectl *k, const char *where)
{
	return strcmp(k->dry_run, where) == 0;
}

bool undo_shows(const struct kubectl *k)
{
	bool is_for_people = kubectl_wants(k, "text");
	return is_for_people && (isatty(STDERR_FILENO) || !undo_is_dry(k, "none"));
}

static bool is_yes(const char *line)
{
	return strcasecmp(line, "y\n") == 0 || strcasecmp(line, "yes\n") == 0;
}

bool undo_ask_whether(struct kubectl *k, const struct buf *diff, const struct revision *r, const char *will, const char *wont)
{
	char line[16];
	command_print(stderr, buf_str(&k->notes));
	buf_clear(&k->notes);
	kubectl_write_diff(k, stderr, buf_str(diff));
	if (k->is_agreed || !undo_is_dry(k, "none") || !kubectl_may_ask()) {
		return true;
	}
	struct str name = kubectl_name(k);
	_cleanup_(mem_freep) char *question =
		mem_printf(STR_FMT " %s revision %lld. Go on? [y/N] ", STR_ARG(name), will, (long long)r->number);
	command_print(stderr, str_of(question));
	fflush(stderr);
	if (fgets(line, sizeof(line), stdin) && is_yes(line)) {
		return true;
	}
	buf_printf(&k->out, STR_FMT " %s\n", STR_ARG(name), wont);
	return false;
}

bool undo_ask(struct kubectl *k, const struct buf *diff, const struct revision *r)
{
	return undo_ask_whether(k, diff, r, "will be as in", "was left as it is");
}

struct json *undo_guarded(struct kubectl *k, const struct json *patch)
{
	struct arena *a = &k->arena;
	const struct json *now = json_gets(k->object, "metadata"), *sent = json_gets(patch, "metadata");
	struct json *meta = json_is(sent, JSON_OBJECT) ? json_copy(a, sent) : json_object(a), *ret = json_copy(a, patch);
	json_set(a, meta, STR("uid"), json_string(a, member_text(now, "uid")));
	json_set(a, meta, STR("resourceVersion"), json_string(a, member_text(now, "resourceVersion")));
	json_set(a, ret, STR("metadata"), meta);
	return ret;
}

int undo_send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path, body;
	buf_init(&path, 64 * 1024);
	buf_init(&body, PATCH_MAX);
	target_path(&path, &k->target);
	query_add(&path, "fieldManager", STR(UNDO_MANAGER));
	query_add(&path, "dryRun", undo_is_dry(k, "server") ? STR("All") : STR(""));
	buf_addc(&path, '\0');
	json_encode(&body, patch);
	const struct rest_call call = {.method = "PATCH", .path = path.p, .content_type = type, .body = buf_str(&body)};
	return rest_do(k->client, &call, ret);
}

static bool is_as_before(struct kubectl *k, const struct answer *a)
{
	return str_eq(answer_version(a), member_text(json_gets(k->object, "metadata"), "resourceVersion"));
}

static void tell_skipped(struct kubectl *k, const struct revision *r)
{
	buf_printf(&k->out, STR_FMT " skipped rollback (it already is as revision %lld says)\n", STR_ARG(kubectl_name(k)),
		(long long)r->number);
}

bool undo_tell_in_form(struct kubectl *k, const struct json *value)
{
	if (kubectl_wants(k, "name")) {
		buf_printf(&k->out, STR_FMT "\n", STR_ARG(kubectl_name(k)));
		return true;
	}
	return kubectl_print(k, value);
}

void undo_tell_as_it_is(struct kubectl *k, const struct revision *r)
{
	if (!undo_tell_in_form(k, k->object)) {
		tell_skipped(k, r);
	}
}

void undo_tell(struct kubectl *k, const struct revision *r, const struct answer *a)
{
	if (undo_tell_in_form(k, a->body)) {
		return;
	}
	if (!undo_is_dry(k, "server") && is_as_before(k, a)) {
		tell_skipped(k, r);
		return;
	}
	buf_printf(&k->out, STR_FMT " rolled back to revision %lld%s\n", STR_ARG(kubectl_name(k)), (long long)r->number,
		undo_is_dry(k, "server") ? " (server dry run)" : "");
}

/* Nobody is asked. */
void undo_tell_only(struct kubectl *k, const struct revision *r, const struct json *patch)
{
	if (!undo_tell_in_form(k, patch)) {
		buf_printf(&k->out, STR_FMT " rolled back to revision %lld (client dry run)\n", STR_ARG(kubectl_name(k)),
			(long long)r->number);
	}
}

int undo_check_uid(struct kubectl *k, struct str *uid)
{
	struct str found = member_text(json_gets(k->object, "metadata"), "uid");
	if (uid->n && !str_eq(*uid, found)) {
		return kubectl_fail(k, STR_FMT " was deleted meanwhile, and made again", STR_ARG(kubectl_name(k)));
	}
	*uid = arena_dup(&k->arena, found);
	return 0;
}
