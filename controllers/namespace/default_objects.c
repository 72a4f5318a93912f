/* Two controllers make the objects that clients expect in every cluster. A deleted object is
 * recreated.
 *
 * - default-objects: the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` in each
 *   namespace, as kube-controller-manager's serviceaccount-controller and
 *   root-ca-certificate-publisher do.
 * - kubernetes-service: the Service `default/kubernetes`. kube-apiserver makes it by itself, so
 *   clients expect it also where no controllers run.
 *
 * Each has a table, one watch of namespaces and one watch for each row, so that this costs little
 * at start. Only within `annals up`: a cluster has these objects itself. */
#include "api/model/members.h"
#include "client/informer.h"
#include "controllers/kit/controller.h"

#include <assert.h>

enum {
	WORKERS = 1,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	REPORTED_AFTER = 8,     /* that many failures take about a second */
	SCRATCH_MAX = 64 << 20, /* bytes of one object that is created or changed: etcd takes 1.5 MiB */
	TEXT_MAX = 4096,        /* bytes of a notice; a longer one is empty */
	HTTPS_PORT = 443,
};

#define CA_KEY "ca.crt"
#define DESCRIPTION_ANNOTATION "kubernetes.io/description"
/* The description that kube-controller-manager's root-ca-certificate-publisher writes, and
 * restores when it is missing. */
#define DESCRIPTION                                                                                                     \
	"Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " \
	"internal "                                                                                                     \
	"service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
/* The first address of kube-apiserver's default --service-cluster-ip-range. */
#define SERVICE_ADDRESS "10.0.0.1"

struct defaults;

/* An object that must exist. */
struct wanted {
	struct resource resource;
	const char *kind, *name;
	const char *namespace; /* NULL: in each namespace */
	bool is_read_whole;    /* the watch keeps whole objects, because is_right reads more than metadata */
	void (*fill)(const struct defaults *d, struct json *object, struct arena *a);
	bool (*is_right)(const struct defaults *d, const struct json *object); /* NULL: any existing object is right */
};

struct watched {
	struct defaults *defaults;
	const struct wanted *wanted;
	struct informer *informer;
};

enum { WANTED_MAX = 2 /* rows of the longer table */ };

struct defaults {
	struct controller_run run; /* keys: names of namespaces */
	struct informer *namespaces;
	struct watched watched[WANTED_MAX]; /* a row of the table each */
	size_t n;
	struct workers workers;
};

/* ---- what there must be ---- */

static void add_text(struct arena *a, struct json *object, const char *name, const char *value)
{
	json_add(a, object, str_of(name), json_string(a, str_of(value)));
}

/* Copies a member so that it can be changed. The informer's object stays as it is. */
static struct json *part(struct json *object, const char *name, struct arena *a)
{
	const struct json *value = json_gets(object, name);
	struct json *copy = json_is(value, JSON_OBJECT) ? json_copy(a, value) : json_object(a);
	json_set(a, object, str_of(name), copy);
	return copy;
}

static void fill_root_ca(const struct defaults *d, struct json *object, struct arena *a)
{
	struct json *data = json_object(a);
	json_set(a, part(part(object, "metadata", a), "annotations", a), STR(DESCRIPTION_ANNOTATION),
		json_string(a, STR(DESCRIPTION)));
	json_add(a, data, STR(CA_KEY), json_string(a, d->run.env->ca));
	json_set(a, object, STR("data"), data);
}

static bool is_root_ca_right(const struct defaults *d, const struct json *object)
{
	const struct json *data = json_gets(object, "data"),
			  *annotations = json_gets(json_gets(object, "metadata"), "annotations");
	return member_count(object, "data") == 1 && str_eq(member_text(data, CA_KEY), d->run.env->ca) &&
		member_text(annotations, DESCRIPTION_ANNOTATION).n > 0;
}

/* Returns the port of a URL like "https://127.0.0.1:6443". */
static int64_t port_of(struct str server)
{
	int64_t port = HTTPS_PORT;
	size_t at = server.n;
	while (at > 0 && server.p[at - 1] != ':') {
		at--;
	}
	str_to_int64((struct str){server.p + at, server.n - at}, &port);
	return port;
}

/* kube-apiserver also creates Endpoints for this Service, but none with a loopback address, and
 * `annals up` listens on loopback. */
static void fill_service(const struct defaults *d, struct json *object, struct arena *a)
{
	struct json *labels = part(part(object, "metadata", a), "labels", a), *spec = json_object(a), *ports = json_array(a),
		    *port = json_object(a);
	add_text(a, labels, "component", "apiserver");
	add_text(a, labels, "provider", "kubernetes");
	json_add(a, object, STR("spec"), spec);
	json_add(a, spec, STR("ports"), ports);
	json_append(a, ports, port);
	add_text(a, port, "name", "https");
	add_text(a, port, "protocol", "TCP");
	json_add(a, port, STR("port"), json_int(a, HTTPS_PORT));
	json_add(a, port, STR("targetPort"), json_int(a, port_of(d->run.env->server)));
	add_text(a, spec, "clusterIP", SERVICE_ADDRESS);
	add_text(a, spec, "type", "ClusterIP");
	add_text(a, spec, "sessionAffinity", "None");
	add_text(a, spec, "ipFamilyPolicy", "SingleStack");
}

static const struct wanted of_namespaces[] = {
	{.resource = {{"", 0}, {"v1", 2}, {"serviceaccounts", 15}}, .kind = "ServiceAccount", .name = "default"},
	{.resource = {{"", 0}, {"v1", 2}, {"configmaps", 10}},
		.kind = "ConfigMap",
		.name = "kube-root-ca.crt",
		.is_read_whole = true,
		.fill = fill_root_ca,
		.is_right = is_root_ca_right},
};

static const struct wanted of_cluster[] = {
	{.resource = {{"", 0}, {"v1", 2}, {"services", 8}},
		.kind = "Service",
		.name = "kubernetes",
		.namespace = "default",
		.fill = fill_service},
};

/* ---- one object ---- */

/* An object needs no further try if it was written, if its namespace is gone or terminating, or
 * if others changed it: that change arrives as an event. */
static bool is_settled(int error, const struct target *t, const struct answer *answer)
{
	bool is_gone = answer_is_absent(answer, t) || answer_is_without_namespace(answer, t->namespace);
	return !error || is_gone || answer_is(answer, 409, NULL) ||
		(answer_is(answer, 403, NULL) && json_gets(json_gets(answer->body, "details"), "causes"));
}

static bool defaults_create(struct defaults *d, const struct wanted *w, struct str ns, struct answer *answer)
{
	const struct target t = {.resource = &w->resource, .namespace = ns};
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, SCRATCH_MAX);
	struct json *object = json_object(&a), *meta = json_object(&a);
	add_text(&a, object, "apiVersion", "v1");
	add_text(&a, object, "kind", w->kind);
	json_add(&a, object, STR("metadata"), meta);
	add_text(&a, meta, "name", w->name);
	json_add(&a, meta, STR("namespace"), json_string(&a, ns));
	if (w->fill) {
		w->fill(d, object, &a);
	}
	return is_settled(rest_create(d->run.env->client, &t, object, answer), &t, answer);
}

/* The update carries the version that was read, so it cannot overwrite what others write
 * meanwhile. */
static bool defaults_correct(
	struct defaults *d, const struct wanted *w, struct str ns, const struct item *found, struct answer *answer)
{
	const struct target t = {.resource = &w->resource, .namespace = ns, .name = str_of(w->name)};
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, SCRATCH_MAX);
	struct json *object = json_copy(&a, found->object);
	json_set(&a, object, STR("apiVersion"), json_string(&a, STR("v1")));
	json_set(&a, object, STR("kind"), json_string(&a, str_of(w->kind)));
	w->fill(d, object, &a);
	return is_settled(rest_update(d->run.env->client, &t, object, answer), &t, answer);
}

static bool is_for(const struct wanted *w, struct str ns)
{
	return !w->namespace || str_is(ns, w->namespace);
}

static bool defaults_ensure(struct defaults *d, const struct watched *watched, struct str ns, struct answer *answer)
{
	const struct wanted *w = watched->wanted;
	_cleanup_(item_unrefp) struct item *found = informer_get(watched->informer, ns, str_of(w->name));
	if (!found) {
		return defaults_create(d, w, ns, answer);
	}
	if (!w->is_right || item_is_deleting(found) || w->is_right(d, found->object)) {
		return true;
	}
	return defaults_correct(d, w, ns, found, answer);
}

/* ---- work ---- */

static bool has_synced(const struct defaults *d)
{
	bool has = informer_has_synced(d->namespaces);
	for (size_t i = 0; has && i < d->n; i++) {
		has = informer_has_synced(d->watched[i].informer);
	}
	return has;
}

static bool defaults_look_at(struct defaults *d, struct str ns, struct answer *answer)
{
	_cleanup_(item_unrefp) struct item *namespace = informer_get(d->namespaces, STR(""), ns);
	bool is_done = true;
	if (!namespace || item_is_deleting(namespace)) {
		return true;
	}
	for (size_t i = 0; is_done && i < d->n; i++) {
		is_done = !is_for(d->watched[i].wanted, ns) || defaults_ensure(d, &d->watched[i], ns, answer);
	}
	return is_done;
}

static void defaults_complain(struct defaults *d, struct str ns, const struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, TEXT_MAX);
	if (workqueue_failures(d->run.queue, ns) == REPORTED_AFTER && answer->message.n) {
		buf_printf(&text, "namespace " STR_FMT ": " STR_FMT "; trying again", STR_ARG(ns), STR_ARG(answer->message));
		controller_notice(&d->run, true, buf_str(&text));
	}
}

static void defaults_work(void *ctx, struct str ns)
{
	struct defaults *d = ctx;
	_cleanup_(answer_done) struct answer answer;
	answer_init(&answer);
	/* Until the informers have synced, an existing object may look absent. */
	if (!has_synced(d)) {
		workqueue_poll(d->run.queue, ns, 100);
	} else if (defaults_look_at(d, ns, &answer)) {
		workqueue_forget(d->run.queue, ns);
	} else {
		workqueue_retry(d->run.queue, ns);
		defaults_complain(d, ns, &answer);
	}
}

/* ---- what happens ---- */

static void on_namespace_add(void *ctx, struct item *namespace, bool is_initial _unused_)
{
	struct defaults *d = ctx;
	workqueue_add(d->run.queue, namespace->name);
}

static void on_namespace_update(void *ctx, struct item *old _unused_, struct item *namespace)
{
	on_namespace_add(ctx, namespace, false);
}

static void on_object_update(void *ctx, struct item *old _unused_, struct item *object)
{
	struct watched *w = ctx;
	if (w->wanted->is_right) {
		workqueue_add(w->defaults->run.queue, object->namespace);
	}
}

static void on_object_delete(void *ctx, struct item *object, bool is_guess _unused_)
{
	struct watched *w = ctx;
	if (is_for(w->wanted, object->namespace)) {
		workqueue_add(w->defaults->run.queue, object->namespace);
	}
}

/* ---- its life ---- */

static struct informer *watch_objects(struct defaults *d, struct watched *w)
{
	_cleanup_(mem_freep) char *selector = mem_printf("metadata.name=%s", w->wanted->name);
	return controller_watch(&d->run,
		(struct informer_options){
			.resource = w->wanted->resource,
			.namespace = str_of(w->wanted->namespace ? w->wanted->namespace : ""),
			.field_selector = str_of(selector),
			.metadata_only = !w->wanted->is_read_whole,
			.handlers = {.on_update = on_object_update, .on_delete = on_object_delete},
			.ctx = w,
		});
}

static void defaults_begin(struct defaults *d, const struct wanted *table, size_t n)
{
	assert(n <= WANTED_MAX);
	d->n = n;
	for (size_t i = 0; i < n; i++) {
		d->watched[i] = (struct watched){.defaults = d, .wanted = &table[i]};
		d->watched[i].informer = watch_objects(d, &d->watched[i]);
	}
	d->namespaces = controller_watch(&d->run,
		(struct informer_options){
			.resource = {{"", 0}, {"v1", 2}, {"namespaces", 10}},
			.metadata_only = true,
			.handlers = {.on_add = on_namespace_add, .on_update = on_namespace_update},
		});
}

static void begin_of_namespaces(void *state)
{
	defaults_begin(state, of_namespaces, ARRAY_SIZE(of_namespaces));
}

static void begin_of_cluster(void *state)
{
	defaults_begin(state, of_cluster, ARRAY_SIZE(of_cluster));
}

const struct controller default_objects_controller = {
	.name = "default-objects-controller",
	.alias = "default-objects",
	.is_for_up = true,
	.queues = {{"default_objects", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, defaults_work}},
	.state_size = sizeof(struct defaults),
	.begin = begin_of_namespaces,
};

const struct controller kubernetes_service_controller = {
	.name = "kubernetes-service-controller",
	.alias = "kubernetes-service",
	.is_for_up = true,
	.queues = {{"kubernetes_service", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, defaults_work}},
	.state_size = sizeof(struct defaults),
	.begin = begin_of_cluster,
};
