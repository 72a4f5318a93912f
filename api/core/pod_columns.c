/* printPod of k8s.io/kubernetes/pkg/printers/internalversion: the STATUS column is computed from
 * all container statuses in an order of precedence that people have learnt to read. Each cell
 * computes the summary anew; a table of pods is rare here, and nothing has to be kept. */
#include "api/core/pod_columns.h"

#include "api/model/members.h"
#include "base/clock.h"

/* All columns but those that are there as they are, in one look. */
struct summary {
	struct arena *arena;
	const struct json *spec, *status;
	struct str reason; /* the STATUS column */
	int64_t ready, total, restarts;
	struct str last_restart; /* RFC 3339, or empty */
};

static const struct json *items_of(const struct json *object, const char *name, uint32_t *ret_n)
{
	const struct json *list = json_gets(object, name);
	*ret_n = json_is(list, JSON_ARRAY) ? list->n : 0;
	return list;
}

static bool is_true(const struct json *v)
{
	return json_is(v, JSON_BOOL) && v->boolean;
}

static const struct json *find_by(const struct json *object, const char *list, const char *key, struct str value)
{
	uint32_t n;
	const struct json *items = items_of(object, list, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (str_eq(member_text(items->items[i], key), value)) {
			return items->items[i];
		}
	}
	return NULL;
}

static bool is_condition_true(const struct json *status, const char *type)
{
	return str_is(member_text(find_by(status, "conditions", "type", str_of(type)), "status"), "True");
}

static int64_t count_sidecars(const struct json *spec)
{
	uint32_t n;
	int64_t sidecars = 0;
	const struct json *containers = items_of(spec, "initContainers", &n);
	for (uint32_t i = 0; i < n; i++) {
		sidecars += str_is(member_text(containers->items[i], "restartPolicy"), "Always");
	}
	return sidecars;
}

static const struct json *state_of(const struct json *container, const char *state)
{
	return json_gets(json_gets(container, "state"), state);
}

static void count_restarts(const struct json *container, int64_t *restarts, struct str *last)
{
	struct str ended = member_text(json_gets(json_gets(container, "lastState"), "terminated"), "finishedAt");
	*restarts += member_int(container, "restartCount");
	if (str_cmp(*last, ended) < 0) {
		*last = ended;
	}
}

/* How a container ended: its reason, or what stands for one. */
static struct str ending(struct summary *s, const struct json *terminated)
{
	struct str reason = member_text(terminated, "reason");
	if (reason.n) {
		return reason;
	}
	int64_t signal = member_int(terminated, "signal");
	return signal ? arena_printf(s->arena, "Signal:%lld", (long long)signal)
		      : arena_printf(s->arena, "ExitCode:%lld", (long long)member_int(terminated, "exitCode"));
}

static struct str init_reason(struct summary *s, const struct json *container, uint32_t i)
{
	const struct json *terminated = state_of(container, "terminated");
	struct str waiting = member_text(state_of(container, "waiting"), "reason");
	uint32_t n;
	items_of(s->spec, "initContainers", &n);
	if (terminated) {
		return arena_printf(s->arena, "Init:" STR_FMT, STR_ARG(ending(s, terminated)));
	}
	if (waiting.n && !str_is(waiting, "PodInitializing")) {
		return arena_printf(s->arena, "Init:" STR_FMT, STR_ARG(waiting));
	}
	return arena_printf(s->arena, "Init:%u/%u", (unsigned)i, (unsigned)n);
}

struct restarts {
	int64_t n;
	struct str last;
};

static bool summarize_init_by(struct summary *s, struct restarts *of_sidecars, const struct map *init_containers)
{
	uint32_t n;
	const struct json *statuses = items_of(s->status, "initContainerStatuses", &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct json *c = statuses->items[i], *terminated = state_of(c, "terminated");
		const struct json *container = map_get(init_containers, member_text(c, "name"));
		bool sidecar = str_is(member_text(container, "restartPolicy"), "Always");
		count_restarts(c, &s->restarts, &s->last_restart);
		if (sidecar) {
			count_restarts(c, &of_sidecars->n, &of_sidecars->last);
		}
		if (terminated && member_int(terminated, "exitCode") == 0) {
			continue;
		}
		if (sidecar && is_true(json_gets(c, "started"))) {
			s->ready += is_true(json_gets(c, "ready"));
			continue;
		}
		s->reason = init_reason(s, c, i);
		return true;
	}
	return false;
}

/* Looks at the init containers up to the first that is not done; true: there is one. */
static bool summarize_init(struct summary *s, struct restarts *of_sidecars)
{
	struct map init_containers;
	list_index(&init_containers, json_gets(s->spec, "initContainers"), "name");
	bool is_initializing = summarize_init_by(s, of_sidecars, &init_containers);
	map_done(&init_containers);
	return is_initializing;
}

static void summarize_containers(struct summary *s)
{
	uint32_t n;
	bool has_running = false;
	struct str error = {0};
	const struct json *statuses = items_of(s->status, "containerStatuses", &n);
	/* Goes from the last container to the first, as upstream: the first container's reason
	 * wins. */
	for (uint32_t i = n; i-- > 0;) {
		const struct json *c = statuses->items[i], *terminated = state_of(c, "terminated");
		struct str waiting = member_text(state_of(c, "waiting"), "reason");
		count_restarts(c, &s->restarts, &s->last_restart);
		if (waiting.n) {
			s->reason = waiting;
		} else if (terminated) {
			s->reason = ending(s, terminated);
			error = member_int(terminated, "exitCode") ? s->reason : error;
		} else if (is_true(json_gets(c, "ready")) && state_of(c, "running")) {
			has_running = true;
			s->ready++;
		}
	}
	if (!str_is(s->reason, "Completed")) {
		return;
	}
	if (has_running && is_condition_true(s->status, "Ready")) {
		s->reason = STR("Running");
	} else if (error.n) {
		s->reason = error;
	} else if (has_running) {
		s->reason = STR("NotReady");
	}
}

static void summarize_deletion(struct summary *s, const struct meta *m)
{
	struct str phase = member_text(s->status, "phase");
	bool is_over = str_is(phase, "Failed") || str_is(phase, "Succeeded");
	if (meta_is_deleting(m) && str_is(member_text(s->status, "reason"), "NodeLost")) {
		s->reason = STR("Unknown");
	} else if (meta_is_deleting(m) && !is_over) {
		s->reason = STR("Terminating");
	}
}

static void summarize(struct summary *s, const struct object *o, struct arena *a)
{
	uint32_t n;
	*s = (struct summary){.arena = a, .spec = object_spec(o), .status = object_status(o)};
	struct str phase = member_text(s->status, "phase"), reason = member_text(s->status, "reason");
	const struct json *scheduled = find_by(s->status, "conditions", "type", STR("PodScheduled"));
	struct restarts of_sidecars = {0};
	bool is_gated = str_is(member_text(scheduled, "reason"), "SchedulingGated");
	s->reason = is_gated ? STR("SchedulingGated") : reason.n ? reason : phase;
	items_of(s->spec, "containers", &n);
	s->total = n + count_sidecars(s->spec);

	if (!summarize_init(s, &of_sidecars) || is_condition_true(s->status, "Initialized")) {
		s->restarts = of_sidecars.n;
		s->last_restart = of_sidecars.last;
		summarize_containers(s);
	}
	summarize_deletion(s, &o->meta);
}

/* Holds short texts such as "Init:ExitCode:1": no malloc in nearly all cases. */
enum { SCRATCH = 2048, SCRATCH_CEILING = 1 << 20 };

static void write_ready(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct summary s;
	struct arena a;
	_Alignas(16) char first[SCRATCH];
	arena_init_with(&a, SCRATCH_CEILING, first, sizeof(first));
	summarize(&s, o, &a);
	buf_printf(out, "\"%lld/%lld\"", (long long)s.ready, (long long)s.total);
	arena_done(&a);
}

static void write_status(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct summary s;
	struct arena a;
	_Alignas(16) char first[SCRATCH];
	arena_init_with(&a, SCRATCH_CEILING, first, sizeof(first));
	summarize(&s, o, &a);
	json_encode_string(out, s.reason);
	arena_done(&a);
}

static void write_restarts(const struct object *o, int64_t now_s, struct buf *out)
{
	struct summary s;
	struct arena a;
	_Alignas(16) char first[SCRATCH];
	arena_init_with(&a, SCRATCH_CEILING, first, sizeof(first));
	summarize(&s, o, &a);
	int64_t last_us;
	if (s.restarts && time_parse_rfc3339(s.last_restart, &last_us)) {
		char age[32];
		duration_format_human(age, now_s - last_us / 1000000);
		buf_printf(out, "\"%lld (%s ago)\"", (long long)s.restarts, age);
	} else {
		buf_printf(out, "\"%lld\"", (long long)s.restarts);
	}
	arena_done(&a);
}

static void write_or_none(struct str text, struct buf *out)
{
	json_encode_string(out, text.n ? text : STR("<none>"));
}

static void write_ip(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	uint32_t n;
	const struct json *ips = items_of(object_status(o), "podIPs", &n);
	write_or_none(n ? member_text(ips->items[0], "ip") : (struct str){0}, out);
}

static void write_node(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_or_none(member_text(object_spec(o), "nodeName"), out);
}

static void write_nominated_node(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	write_or_none(member_text(object_status(o), "nominatedNodeName"), out);
}

static void write_gates(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	uint32_t n;
	unsigned n_true = 0;
	const struct json *gates = items_of(object_spec(o), "readinessGates", &n);
	struct map conditions;
	list_index(&conditions, json_gets(object_status(o), "conditions"), "type");
	for (uint32_t i = 0; i < n; i++) {
		const struct json *condition = map_get(&conditions, member_text(gates->items[i], "conditionType"));
		n_true += str_is(member_text(condition, "status"), "True");
	}
	map_done(&conditions);
	if (n) {
		buf_printf(out, "\"%u/%u\"", n_true, (unsigned)n);
	} else {
		write_or_none((struct str){0}, out);
	}
}

const struct column pod_columns[POD_COLUMNS] = {
	COLUMN_NAME,
	{"Ready", "string", "", "The aggregate readiness state of this pod for accepting traffic.", 0, write_ready, false},
	{"Status", "string", "", "The aggregate status of the containers in this pod.", 0, write_status, false},
	{"Restarts", "string", "",
		"The number of times the containers in this pod have been restarted and when the last container in this pod "
		"has "
		"restarted.",
		0, write_restarts, false},
	COLUMN_AGE,
	{"IP", "string", "", "First address of the pod.", 1, write_ip, false},
	{"Node", "string", "", "The node it runs on.", 1, write_node, false},
	{"Nominated Node", "string", "", "The node on which room is being made for it.", 1, write_nominated_node, false},
	{"Readiness Gates", "string", "", "How many of its readiness gates are open.", 1, write_gates, false},
};

void pod_template_write(const struct json *template, const char *name, struct buf *out)
{
	const struct json *containers = json_gets(json_gets(template, "spec"), "containers"), *container;
	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		buf_adds(&text, i ? "," : "");
		buf_add_str(&text, member_text(container, name));
	}
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

void labels_write(const struct json *labels, struct buf *out)
{
	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; labels && i < labels->n; i++) {
		buf_adds(&text, i ? "," : "");
		buf_add_str(&text, labels->members[i].name);
		buf_addc(&text, '=');
		buf_add_str(&text, json_text(labels->members[i].value));
	}
	json_encode_string(out, text.n ? buf_str(&text) : STR("<none>"));
	buf_done(&text);
}
