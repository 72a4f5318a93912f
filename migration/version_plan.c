/* What replicas say is taken from one view, and what is stored from one census. A replica that
 * cannot be understood makes nothing common: it may write anything. Sentences name a few replicas
 * and count the others, since there may be 64. */
#include "migration/version_plan.h"

#include "api/model/members.h"
#include "api/model/storage_version.h"
#include "migration/migration_condition.h"
#include "storage/agreement/agreement_plan.h"

/* In a sentence for people, which has a ceiling in bytes besides. */
enum { REPLICAS_NAMED = 8, SENTENCE_MAX = 4096 };

bool kind_has_version(const struct kind *k, bool is_standalone)
{
	for (size_t i = 0; i < k->n_doors && kind_is_stored(k); i++) {
		if (door_is_visible(&k->doors[i], is_standalone)) {
			return true;
		}
	}
	return false;
}

/* ---- replicas ---- */

static bool knows(const struct agreement_version *v)
{
	return v->n_decodes > 0;
}

/* Who does not write the kind does not matter, unless nobody knows what he writes. */
const struct door *view_common(const struct agreement_view *v, const struct kind *k)
{
	struct str common = {NULL, 0};

	for (size_t i = 0; i < v->n_replicas; i++) {
		struct str encodes = v->replicas[i].versions[k->index].encodes;
		if (v->replicas[i].problem.n || (common.n && encodes.n && !str_eq(common, encodes))) {
			return NULL;
		}
		common = encodes.n ? encodes : common;
	}
	return common.n && !v->is_overfull ? kind_door(k, common) : NULL;
}

static void write_writer(const struct agreement_replica *r, const struct kind *k, struct buf *out)
{
	struct str encodes = r->versions[k->index].encodes;

	agreement_write_name(r, out);
	if (r->problem.n) {
		buf_printf(out, " cannot be understood: " STR_FMT, STR_ARG(r->problem));
	} else {
		buf_printf(out, " stores " STR_FMT, STR_ARG(encodes.n ? encodes : STR("none")));
	}
}

struct str view_disagreement(const struct agreement_view *v, const struct kind *k, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	size_t n = 0;

	buf_init(&text, SENTENCE_MAX);
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if ((r->problem.n || knows(&r->versions[k->index])) && n++ < REPLICAS_NAMED) {
			buf_adds(&text, n > 1 ? ", " : "");
			write_writer(r, k, &text);
		}
	}
	if (n > REPLICAS_NAMED) {
		buf_printf(&text, ", and %zu more", n - REPLICAS_NAMED);
	}
	return n ? arena_dup(a, buf_str(&text)) : STR("no server is registered");
}

int64_t view_revision(const struct agreement_view *v)
{
	int64_t revision = v->revision;

	for (size_t i = 0; i < v->n_replicas; i++) {
		revision = MAX(revision, v->replicas[i].mod_revision);
	}
	return revision;
}

/* ---- objects ---- */

int64_t census_total(const struct cache_census *c, const struct kind *k)
{
	size_t n = c->n_unknown;

	for (size_t i = 0; i < k->n_doors; i++) {
		n += c->stored[i];
	}
	return (int64_t)n;
}

int64_t census_others(const struct cache_census *c, const struct kind *k, const struct door *version)
{
	return census_total(c, k) - (int64_t)c->stored[version - k->doors];
}

/* ---- the StorageVersion ---- */

static void add_texts(struct json *object, const char *name, const struct str *texts, size_t n, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < n; i++) {
		json_append(a, list, json_string(a, texts[i]));
	}
	if (n) {
		json_add(a, object, str_of(name), list);
	}
}

static struct json *server_version(const struct agreement_replica *r, const struct agreement_version *v, struct arena *a)
{
	struct json *server = json_object(a);

	json_add(a, server, STR("apiServerID"), json_string(a, r->id));
	json_add_text(a, server, STR("address"), r->address);
	json_add_text(a, server, STR("encodingVersion"), v->encodes);
	json_add_text(a, server, STR("wantedVersion"), str_eq(v->wants, v->encodes) ? STR("") : v->wants);
	add_texts(server, "decodableVersions", v->decodes, v->n_decodes, a);
	add_texts(server, "servedVersions", v->serves, v->n_serves, a);
	return server;
}

static struct json *server_versions(const struct agreement_view *v, const struct kind *k, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_version *each = &v->replicas[i].versions[k->index];
		if (knows(each)) {
			json_append(a, list, server_version(&v->replicas[i], each, a));
		}
	}
	return list;
}

static void add_count(struct json *list, struct str version, size_t n, struct arena *a)
{
	struct json *count = json_object(a);

	if (n) {
		json_add(a, count, STR("version"), json_string(a, version));
		json_add(a, count, STR("count"), json_int(a, (int64_t)n));
		json_append(a, list, count);
	}
}

static struct json *stored_objects(const struct cache_census *c, const struct kind *k, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < k->n_doors; i++) {
		add_count(list, door_api_version(&k->doors[i], a), c->stored[i], a);
	}
	add_count(list, arena_dup(a, str_of(c->unknown_version)), c->n_unknown, a);
	return list;
}

static void add_list(struct json *object, const char *name, struct json *list, struct arena *a)
{
	if (list->n) {
		json_add(a, object, str_of(name), list);
	}
}

static void add_common(struct json *status, const struct kind *k, const struct door *common, struct arena *a)
{
	char hash[STORAGE_VERSION_HASH_SIZE];

	storage_version_hash(k, common, hash);
	json_add_text(a, status, STR("commonEncodingVersion"), door_api_version(common, a));
	json_add_text(a, status, STR("storageVersionHash"), arena_dup(a, str_of(hash)));
}

/* Upstream (apiserver pkg/storageversion SetCommonEncodingVersion): since when it is so begins anew with another version, too. */
static struct json *equality(const struct json *old, struct str common, int64_t now_s, struct arena *a)
{
	struct str before = member_text(old, "commonEncodingVersion");
	bool is_other = common.n && before.n && !str_eq(common, before);
	const struct json *list = is_other ? NULL : json_gets(old, "conditions");

	return common.n ? condition_new(list, "AllEncodingVersionsEqual", true, "CommonEncodingVersionSet",
				  STR("Common encoding version set"), now_s, a)
			: condition_new(list, "AllEncodingVersionsEqual", false, "CommonEncodingVersionUnset",
				  STR("Common encoding version unset"), now_s, a);
}

struct json *version_status(const struct agreement_view *v, const struct kind *k, const struct door *common,
	const struct cache_census *census, const struct json *old, int64_t now_s, struct arena *a)
{
	struct json *status = json_object(a), *conditions = json_array(a);

	add_list(status, "storageVersions", server_versions(v, k, a), a);
	if (common) {
		add_common(status, k, common, a);
	}
	add_list(status, "storedObjects", stored_objects(census, k, a), a);
	json_append(a, conditions, equality(old, member_text(status, "commonEncodingVersion"), now_s, a));
	json_add(a, status, STR("conditions"), conditions);
	return status;
}

bool version_status_is_news(const struct json *status, const struct json *old)
{
	static const char *const names[] = {"storageVersions", "commonEncodingVersion", "storageVersionHash", "conditions"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!json_equal(json_gets(status, names[i]), json_gets(old, names[i]))) {
			return true;
		}
	}
	return false;
}
