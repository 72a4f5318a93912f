/* Pages of the other cluster become lines of a file without a name, which is then imported like any
 * other: so everything is there, and checked, before anything is written. */
#include "api/model/members.h"
#include "cli/export/export_form.h"
#include "cli/export/import.h"
#include "client/rest.h"

#include <errno.h>
#include <unistd.h>

enum { LINE_BYTES = EXPORT_LINE_MAX, TREE_BYTES = 256 << 20 };

struct fetch {
	struct client *client;
	int fd;
	uint64_t n_bytes; /* written to it */
	struct buf line;
	struct arena arena;
	const struct kind *kind;
	const struct door *door;
	int error;
	struct buf *err;
};

/* Items of a list say neither what they are nor of which version. */
static bool write_item(void *ctx, const struct json *item)
{
	struct fetch *f = ctx;
	struct json *whole = json_object(&f->arena);
	json_add(&f->arena, whole, STR("kind"), json_string(&f->arena, str_of(f->kind->kind)));
	json_add(&f->arena, whole, STR("apiVersion"), json_string(&f->arena, door_api_version(f->door, &f->arena)));
	for (uint32_t i = 0; json_is(item, JSON_OBJECT) && i < item->n; i++) {
		if (!str_is(item->members[i].name, "kind") && !str_is(item->members[i].name, "apiVersion")) {
			json_add(&f->arena, whole, item->members[i].name, item->members[i].value);
		}
	}
	if (!json_encode(&f->line, whole) || !buf_addc(&f->line, '\n')) {
		f->error = -EFBIG;
	} else if (f->line.n > IMPORT_COPY_MAX - f->n_bytes) {
		f->error = -EFBIG;
	} else {
		f->error = file_write(f->fd, buf_str(&f->line));
		f->n_bytes += f->line.n;
	}
	buf_clear(&f->line);
	arena_clear(&f->arena);
	if (f->error) {
		buf_printf(f->err, "cannot keep a copy of a %s: %s", f->kind->kind, strerror(-f->error));
	}
	return f->error == 0;
}

static int refuse(struct fetch *f, const struct answer *a)
{
	buf_printf(f->err, "cannot list %s of the other cluster: " STR_FMT, f->kind->resource, STR_ARG(a->message));
	return -EIO;
}

static int fetch_list(struct fetch *f, const char *ns)
{
	const struct resource resource = {str_of(f->door->group), str_of(f->door->version), str_of(f->kind->resource)};
	const struct target target = {.resource = &resource, .namespace = str_of(ns)};
	struct answer answer;
	answer_init(&answer);
	int r = rest_each(f->client, &target, false, write_item, f, &answer) ? refuse(f, &answer) : f->error;
	answer_done(&answer);
	return r;
}

/* controllerrevisions.apps is asked of apps, and controllerrevisions of the kind's own group. */
static const struct door *find_door(const struct kind *k, struct str name)
{
	struct str resource, group;
	bool has_group = str_cut(name, '.', &resource, &group);
	for (size_t i = 0; i < k->n_doors; i++) {
		if (!has_group || str_is(group, k->doors[i].group)) {
			return &k->doors[i];
		}
	}
	return &k->doors[0];
}

static int fetch_all(struct fetch *f, const struct option_strings *resources, const struct option_strings *namespaces)
{
	int r = 0;
	for (size_t i = 0; i < resources->n && !r; i++) {
		f->kind = export_find_kind(str_of(resources->v[i]));
		f->door = find_door(f->kind, str_of(resources->v[i]));
		if (!namespaces->n || !f->kind->is_namespaced) {
			r = fetch_list(f, NULL);
		}
		for (size_t n = 0; n < namespaces->n && f->kind->is_namespaced && !r; n++) {
			r = fetch_list(f, namespaces->v[n]);
		}
	}
	return r;
}

int import_fetch(const char *kubeconfig, const char *context, const struct option_strings *resources,
	const struct option_strings *namespaces, struct buf *err)
{
	struct fetch f = {.err = err, .fd = -1};
	struct client_config config = {0};
	buf_init(&f.line, LINE_BYTES);
	arena_init(&f.arena, TREE_BYTES);
	int r = client_config_load(&config, kubeconfig, context, err);
	r = r ? r : client_new(&f.client, &config, err);
	f.fd = r ? r : import_file_temporary(err);
	r = f.fd < 0 ? f.fd : fetch_all(&f, resources, namespaces);
	if (f.client) {
		client_free(f.client);
	}
	client_config_done(&config);
	if (r && f.fd >= 0) {
		close(f.fd);
	}
	arena_done(&f.arena);
	buf_done(&f.line);
	return r ? r : f.fd;
}
