/* Undo and restore from the page: first a dry run, whose result is shown, then the write of what was
 * shown. The page keeps nothing in between but a proof: a hash, by a key of this process alone, of
 * the very request that the dry run has tried, with the object's uid and resourceVersion in it. The
 * write works everything out anew, and is sent only where that comes to the same request. */
#include "api/diff/hunks.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "base/hex.h"
#include "base/keyed_hash.h"
#include "cli/kubectl/kubectl_undo.h"
#include "cli/kubectl/page.h"
#include "cli/kubectl/put_back.h"

/* Bytes of a request that a proof covers; servers refuse more than 3 MiB. */
enum { PROOF_SIZE = 2 * SHA256_SIZE + 1, REQUEST_MAX = 32 << 20, COMMAND_MAX = 64 << 10 };

/* ---- what is asked ---- */

struct wish {
	struct str type, namespace, name, proof, context;
	int64_t revision; /* -1: not said */
	bool is_dry, wants_own, skips_redacted;
};

static bool read_text(const struct json *body, const char *name, struct str *ret)
{
	const struct json *value = json_gets(body, name);
	*ret = json_text(json_is(value, JSON_STRING) ? value : NULL);
	return !value || json_is(value, JSON_STRING);
}

static bool read_bool(const struct json *body, const char *name, bool *ret)
{
	const struct json *value = json_gets(body, name);
	*ret = json_is(value, JSON_BOOL) && value->boolean;
	return !value || json_is(value, JSON_BOOL);
}

static bool read_revision(const struct json *body, int64_t *ret)
{
	const struct json *value = json_gets(body, "revision");
	*ret = -1;
	return !value || (json_to_int64(value, ret) && *ret >= 0);
}

/* Returns false if the call has been refused. */
static bool read_wish(struct wish *w, struct ui_call *call)
{
	const struct json_limits limits = {.depth = 8, .values = 256};
	struct json *body;
	size_t at;
	if (json_parse(&body, call->arena, call->body, limits, &at) || !json_is(body, JSON_OBJECT) ||
		!read_text(body, "type", &w->type) || !read_text(body, "namespace", &w->namespace) ||
		!read_text(body, "name", &w->name) || !read_text(body, "proof", &w->proof) ||
		!read_text(body, "context", &w->context) || !read_revision(body, &w->revision) ||
		!read_bool(body, "own", &w->wants_own) || !read_bool(body, "skipRedacted", &w->skips_redacted) ||
		!json_is(json_gets(body, "dryRun"), JSON_BOOL) || !read_bool(body, "dryRun", &w->is_dry)) {
		ui_refuse(call, 400, "the body must be a JSON object with type, name and dryRun");
		return false;
	}
	return true;
}

/* ---- a call ---- */

struct writing {
	const struct page *page;
	struct ui_call *call;
	struct wish wish;
	struct kubectl k;
	const char *verb, *revision_flag;
	const struct revision *revision;
	char proof[PROOF_SIZE]; /* of the present plan */
	bool is_sent;           /* this is the write, not the dry run */
};

static void writing_prove(struct writing *w, const char *type, const struct json *request)
{
	_cleanup_(buf_done) struct buf text;
	unsigned char hash[SHA256_SIZE];
	buf_init(&text, REQUEST_MAX);
	json_encode(&text, request);
	const struct str parts[] = {str_of(w->verb), kubectl_name(&w->k), w->k.target.namespace, w->revision->name,
		arena_printf(&w->k.arena, "%lld", (long long)w->revision->number), str_of(type), buf_str(&text)};
	const struct str key = {(const char *)w->page->proofs.key, SHA256_SIZE};
	keyed_hash_of_parts(key, parts, ARRAY_SIZE(parts), hash);
	hex_write(w->proof, hash, SHA256_SIZE);
}

/* May the plan be sent? Yes in a dry run, or if the plan is the one that was shown. */
static bool may_go_on(struct writing *w)
{
	w->is_sent = !w->wish.is_dry && secret_equal(str_of(w->proof), w->wish.proof);
	if (w->wish.is_dry || w->is_sent) {
		return true;
	}
	kubectl_fail(&w->k, STR_FMT " is not as it was when this was shown; look at it again", STR_ARG(kubectl_name(&w->k)));
	w->k.refused_code = 409;
	return false;
}

/* ---- what is answered ---- */

/* Appends a word for a POSIX shell, quoted if necessary. */
static void add_word(struct buf *out, struct str word)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
	bool is_safe = word.n > 0;
	for (size_t i = 0; i < word.n; i++) {
		is_safe = is_safe && word.p[i] && strchr(safe, word.p[i]);
	}
	buf_adds(out, is_safe ? " " : " '");
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] == '\'') {
			BUF_LITERAL(out, "'\\''");
		} else {
			buf_addc(out, word.p[i]);
		}
	}
	buf_adds(out, is_safe ? "" : "'");
}

static void add_flag(struct buf *out, struct arena *a, const char *flag, const char *value)
{
	if (value && *value) {
		add_word(out, arena_printf(a, "%s=%s", flag, value));
	}
}

/* The command that does the same in a terminal. */
static struct str command_of(struct writing *w)
{
	struct kubectl *k = &w->k;
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, COMMAND_MAX);
	buf_printf(&out, "kubectl annals %s", w->verb);
	add_word(&out, kubectl_name(k));
	buf_printf(&out, " %s=%lld", w->revision_flag, (long long)w->revision->number);
	buf_adds(&out, k->wants_own ? " --own" : "");
	buf_adds(&out, k->skips_redacted ? " --skip-redacted" : "");
	if (k->target.namespace.n) {
		BUF_LITERAL(&out, " -n");
		add_word(&out, k->target.namespace);
	}
	add_flag(&out, &k->arena, "--context", w->page->k->context);
	add_flag(&out, &k->arena, "--kubeconfig", w->page->k->kubeconfig);
	return arena_dup(&k->arena, buf_str(&out));
}

static struct json *notes_of(struct writing *w)
{
	struct json *notes = json_array(&w->k.arena);
	struct str rest = buf_str(&w->k.notes), line;
	while (rest.n > 0) {
		str_cut(rest, '\n', &line, &rest);
		json_append(&w->k.arena, notes, json_string(&w->k.arena, line));
	}
	return notes;
}

/* Answers with the result of a dry run. */
static int writing_show(struct writing *w, const struct json *now, const struct json *then)
{
	struct arena *a = &w->k.arena;
	struct json *both[] = {now ? json_copy(a, now) : NULL, json_copy(a, then)}, *rest = json_object(a);
	struct hunks h = {.from_name = now ? STR("now") : STR(""), .to_name = w->revision->name};
	if (undo_is_of_secret(&w->k)) {
		put_back_mask_secret(&both[0], &both[1], a);
	}
	h.from = both[0];
	h.to = both[1];
	if (!hunks_parse_context(w->wish.context, &h.context)) {
		return kubectl_fail(&w->k, HUNKS_CONTEXT_HELP);
	}
	struct buf *out = &w->call->out;
	BUF_LITERAL(out, "{\"hunks\":");
	if (hunks_write(out, &h)) {
		return kubectl_fail(&w->k, "the difference is too large to be shown line by line");
	}
	json_add(a, rest, STR("notes"), notes_of(w));
	json_add(a, rest, STR("command"), json_string(a, command_of(w)));
	json_add(a, rest, STR("proof"), json_string(a, str_of(w->proof)));
	BUF_LITERAL(out, ",");
	size_t at = out->n;
	json_encode(out, rest);
	out->p[at] = ' '; /* its brace has been opened above */
	return 0;
}

/* Answers with what was written. */
static void writing_tell(struct writing *w)
{
	struct json *answer = json_object(&w->k.arena);
	json_add(&w->k.arena, answer, STR("message"), json_string(&w->k.arena, str_trim(buf_str(&w->k.out))));
	json_encode(&w->call->out, answer);
}

/* The result must be an object: a server may answer anything. */
static int check_result(struct writing *w, const struct answer *answer)
{
	return json_is(answer->body, JSON_OBJECT) ? 0 : kubectl_fail(&w->k, "the server has answered no object");
}

/* ---- undo ---- */

static int carry_out_undo(struct writing *w, const struct revisions *all, const struct undo_plan *plan, struct answer *answer)
{
	if (undo_carry_out(&w->k, all, plan, answer) || check_result(w, answer)) {
		return -1;
	}
	if (!w->wish.is_dry) {
		undo_tell(&w->k, plan->revision, answer, 0);
		writing_tell(w);
		return 0;
	}
	const struct json *then = undo_shown(&w->k, all, plan, answer->body);
	return then ? writing_show(w, plan->now, then) : -1;
}

static int writing_undo(struct writing *w, struct revisions *all)
{
	struct undo_plan plan;
	struct answer answer;
	w->k.to_revision = w->wish.revision;
	if (w->wish.revision < 0) {
		return kubectl_fail(&w->k, "revision must be the number of one");
	}
	if (revisions_list(&w->k, all) || undo_plan(&w->k, all, &plan)) {
		return -1;
	}
	w->revision = plan.revision;
	writing_prove(w, plan.type, plan.patch);
	if (!may_go_on(w)) {
		return -1;
	}
	if (plan.is_as_it_is && w->wish.is_dry) {
		return writing_show(w, plan.now, plan.now);
	}
	undo_warn_of_applied(&w->k);
	answer_init(&answer);
	int r = carry_out_undo(w, all, &plan, &answer);
	answer_done(&answer);
	return r;
}

/* ---- restore ---- */

static int carry_out_restore(struct writing *w, const struct restore_plan *plan, struct answer *answer)
{
	if (restore_carry_out(&w->k, plan, answer) || check_result(w, answer)) {
		return -1;
	}
	if (!w->wish.is_dry) {
		restore_tell(&w->k, plan->revision, answer->body);
		writing_tell(w);
		return 0;
	}
	return writing_show(w, NULL, state_of(answer->body, NULL, &w->k.arena));
}

static int writing_restore(struct writing *w, struct revisions *all)
{
	struct restore_plan plan;
	struct answer answer;
	w->k.revision = w->wish.revision;
	if (restore_list(&w->k, all) || restore_plan(&w->k, all, &plan)) {
		return -1;
	}
	w->revision = plan.revision;
	writing_prove(w, "", plan.object);
	if (!may_go_on(w)) {
		return -1;
	}
	answer_init(&answer);
	int r = carry_out_restore(w, &plan, &answer);
	answer_done(&answer);
	return r;
}

/* ---- both ---- */

enum { NO_ANSWER = 502 };

static void writing_fail(struct writing *w)
{
	if (w->is_sent && w->k.refused_code == NO_ANSWER) {
		buf_adds(&w->k.err, ". Whether it was written is not known; look at it again");
	}
	page_fail_call(&w->k, w->call);
}

static void writing_work(struct writing *w, int (*run)(struct writing *w, struct revisions *all))
{
	struct kubectl *k = &w->k;
	struct revisions all = {0};
	k->dry_run = w->wish.is_dry ? "server" : "none";
	k->wants_own = w->wish.wants_own;
	k->skips_redacted = w->wish.skips_redacted;
	if (page_find(k, w->wish.type, w->wish.namespace, w->wish.name)) {
		writing_fail(w);
		return;
	}
	answer_init(&all.answer);
	answer_init(&all.history_answer);
	if (run(w, &all)) {
		writing_fail(w);
	}
	revisions_done(&all);
}

static void writing_write(struct writing *w, int (*run)(struct writing *w, struct revisions *all))
{
	if (!w->page->k->may_write) {
		ui_refuse(w->call, 403, "this page only shows what changed: it was started without --write");
		return;
	}
	if (!read_wish(&w->wish, w->call)) {
		return;
	}
	if (!page_init_call(w->page, &w->k, w->call)) {
		writing_work(w, run);
	}
	page_done_call(&w->k);
}

void page_undo(void *ctx, struct ui_call *call)
{
	struct writing w = {.page = ctx, .call = call, .verb = "undo", .revision_flag = "--to-revision"};
	writing_write(&w, writing_undo);
}

void page_restore(void *ctx, struct ui_call *call)
{
	struct writing w = {.page = ctx, .call = call, .verb = "restore", .revision_flag = "--revision"};
	writing_write(&w, writing_restore);
}
