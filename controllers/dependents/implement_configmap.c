/* A Dependent as a ConfigMap of its name, which it owns: one key for each object it refers to, the value what that provides, as JSON. */
#include "api/model/members.h"
#include "controllers/dependents/configmap_plan.h"
#include "controllers/dependents/implementer.h"

enum { SCRATCH_MAX = 64 << 20 };

static const struct resource configmaps = {{"", 0}, {"v1", 2}, {"configmaps", 10}};

void place_init(struct place *p)
{
	p->state = PLACE_NONE;
	answer_init(&p->object);
}

void place_done(struct place *p)
{
	answer_done(&p->object);
}

static struct target target_of(const struct item *dependent, struct str name)
{
	return (struct target){.resource = &configmaps, .namespace = dependent->namespace, .name = name};
}

static int find(struct client *c, const struct item *dependent, struct place *ret)
{
	const struct target t = target_of(dependent, dependent->name);
	int r = rest_get(c, &t, &ret->object);
	ret->state = r ? PLACE_NONE : configmap_state(ret->object.body, dependent->uid);
	return answer_is(&ret->object, 404, NULL) ? 0 : r;
}

static int reserve(struct client *c, const struct item *dependent, struct place *ret)
{
	const struct target t = target_of(dependent, (struct str){NULL, 0});
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	int r = rest_create(c, &t, configmap_empty(&scratch, dependent), &ret->object);
	ret->state = r ? PLACE_NONE : PLACE_EMPTY;
	return r;
}

static bool is_made_from(const struct place *p, const struct provided *provided, struct str uid)
{
	return p->state == PLACE_FILLED && configmap_is_made_from(p->object.body, provided, uid);
}

static int write(struct client *c, const struct item *dependent, struct place *p, const struct json *filled)
{
	const struct target t = target_of(dependent, dependent->name);
	struct answer now;
	answer_init(&now);
	int r = rest_update(c, &t, filled, &now);
	answer_done(&p->object);
	p->object = now;
	p->state = r ? p->state : PLACE_FILLED;
	return r;
}

static int fill(struct client *c, const struct item *dependent, struct place *p, const struct provision *v, size_t n, struct buf *why)
{
	const struct json *filled = NULL;
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	if (!configmap_filled(&scratch, p->object.body, v, n, &filled, why)) {
		return IMPLEMENTER_UNFIT;
	}
	return filled ? write(c, dependent, p, filled) : 0;
}

/* Something may hold it back, so it is looked for again. */
static int withdraw(struct client *c, const struct item *dependent, struct place *p)
{
	const struct target t = target_of(dependent, dependent->name);
	struct delete_options options = DELETE_OPTIONS_DEFAULT;
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(mem_freep) char *uid = NULL;
	struct str of = member_text(json_gets(p->object.body, "metadata"), "uid");
	answer_init(&answer);
	if (!of.n) {
		return REST_GARBLED;
	}
	uid = mem_strndup(of.p, of.n);
	options.uid = str_of(uid);
	options.propagation = "Background";
	int r = rest_delete(c, &t, &options, &answer);
	return r && !answer_is(&answer, 404, NULL) ? r : find(c, dependent, p);
}

const struct implementer configmap_implementer = {
	.kind = "ConfigMap",
	.resource = &configmaps,
	.label_selector = CONFIGMAP_LABEL "=" CONFIGMAP_LABEL_VALUE,
	.find = find,
	.reserve = reserve,
	.is_made_from = is_made_from,
	.fill = fill,
	.withdraw = withdraw,
};
