/* Frames of zstd in stored values, and the table of bases. A frame has the size of its text, which is
 * judged before anything is allocated, and a checksum: a frame that continues another text than it was
 * made from does not pass. */
#include "api/model/packed.h"

#include "base/base64.h"
#include "base/hex.h"
#include "base/sha256.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <zstd.h>

enum {
	LEVEL = 3,                                                   /* the default of zstd */
	CONTEXTS_KEPT = 4,                                           /* more threads than that seldom compress at once */
	CONTEXT_MAX = 2 << 20,                                       /* bytes of one that is kept */
	FRAME_MAX = PACKED_TEXT_MAX + (PACKED_TEXT_MAX >> 7) + 4096, /* bytes: more than ZSTD_compressBound() says */
};

/* The text that frames without a base continue: the words that states, and lists of changes, begin with. The most common ones are at the end,
 * where they are cheapest. It is a part of the form: a changed word would make every stored value unreadable. */
static const char words[] =
	"\"f:metadata\":{\"f:labels\":{\".\":{}},\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"\",\"f:annotations\":{\".\":{},"
	"\"f:annals.dev/digest\":{},\"f:annals.dev/ignored\":{}},\"annals.dev/earlier-revisions\":\"\",\"annals.dev/ignored\":\"[\\\"/"
	"\"type\":\"Deleted\",\"type\":\"Released\",\"type\":\"Adopted\",\"type\":\"Rerecorded\",\"skipped\":true,\"gap\":{"
	"\"resourceVersion\":\"\",\"states\":\"authors\":[{\"user\":\"moreAuthors\":true},\"cause\":\"kubectl \",\"morePaths\":"
	"\"kube-controller-manager\",\"system:serviceaccount:kube-system:\",\"system:annals-controllers\",\"kubectl-edit\","
	"\"kubectl-patch\",\"kubectl-client-side-apply\",\"helm\",\"argocd-controller\",\"kustomize-controller\","
	"\"/metadata/annotations/\",\"/metadata/labels/app.kubernetes.io~1\",\"/spec/template/spec/containers/0/image\","
	"\"/spec/template/spec/containers/0/env/0/value\",\"/spec/replicas\",\"/data/"
	"\"app.kubernetes.io/name\":\"app.kubernetes.io/instance\":\"app.kubernetes.io/managed-by\":\"Helm\",\"helm.sh/chart\":\""
	"\"imagePullPolicy\":\"IfNotPresent\",\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\",\"scheme\":\"HTTP\"},"
	"\"failureThreshold\":3,\"periodSeconds\":10,\"successThreshold\":1,\"timeoutSeconds\":1},\"readinessProbe\":{"
	"\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},"
	"\"securityContext\":{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"]},\"runAsNonRoot\":true},"
	"\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\",\"volumeMounts\":[{\"mountPath\":\"/"
	"\"dnsPolicy\":\"ClusterFirst\",\"restartPolicy\":\"Always\",\"schedulerName\":\"default-scheduler\","
	"\"terminationGracePeriodSeconds\":30,\"progressDeadlineSeconds\":600,\"revisionHistoryLimit\":10,\"selector\":{\"matchLabels\":{"
	"\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"25%\",\"maxUnavailable\":\"25%\"},\"type\":\"RollingUpdate\"},\"template\":{"
	"\"metadata\":{\"creationTimestamp\":null,\"spec\":{\"containers\":[{\"name\":\"image\":\"env\":[{\"name\":\"value\":\"ports\":[{"
	"\"containerPort\":8080,\"protocol\":\"TCP\"}]},\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"kind\":\"Secret\","
	"\"annals.dev/redacted:\",\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"\",\"namespace\":\"default\""
	"{\"kind\":\"History\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"\",\"namespace\":\"\",\"uid\":\"\","
	"\"generation\":1,\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"managedFields\":[{\"manager\":\"annals\",\"operation\":\"Update\","
	"\"apiVersion\":\"annals.dev/v1\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{"
	"\"f:subject\":{\"f:group\":{},\"f:kind\":{},\"f:name\":{},\"f:namespace\":{}}}}},{\"manager\":\"annals\",\"fieldsV1\":{\"f:status\":{"
	"\"f:apiVersion\":{},\"f:changes\":{},\"f:deletionTime\":{},\"f:digest\":{},\"f:revision\":{\"f:name\":{},\"f:revision\":{}},"
	"\"f:revisions\":{},\"f:totalChanges\":{},\"f:uid\":{}}},\"subresource\":\"status\"}]},\"spec\":{\"subject\":{\"group\":\"apps\","
	"\"kind\":\"Deployment\",\"namespace\":\"default\",\"name\":\"\"}},\"status\":{\"uid\":\"\",\"apiVersion\":\"apps/v1\",\"digest\":\"\","
	"\"revision\":{\"name\":\"\",\"revision\":1},\"revisions\":1,\"totalChanges\":1,\"changes\":[{\"type\":\"Created\","
	"\"time\":\"2026-01-01T00:00:00Z\",\"user\":\"\",\"managers\":[\"kubectl\"],\"paths\":[\"\"],\"revision\":\"\",\"number\":1,"
	"\"resourceVersion\":\"1\",\"generation\":1},{\"type\":\"Changed\",\"time\":\"2026-01-01T00:00:00Z\",\"user\":\"kubernetes-admin\","
	"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"deployment.\",\"namespace\":\"default\","
	"\"uid\":\"\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"annotations\":{\"annals.dev/digest\":\"\"},\"ownerReferences\":[{"
	"\"apiVersion\":\"annals.dev/v1\",\"kind\":\"History\",\"name\":\"\",\"uid\":\"\",\"controller\":true}],\"managedFields\":[{"
	"\"manager\":\"annals\",\"operation\":\"Update\",\"apiVersion\":\"annals.dev/v1\",\"time\":\"2026-01-01T00:00:00Z\","
	"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{},\"f:metadata\":{\"f:ownerReferences\":{\".\":{},"
	"\"k:{\\\"uid\\\":\\\"\\\"}\":{}}},\"f:revision\":{}}}]},\"data\":{\"apiVersion\":\"v1\",\"kind\":\"";

/* ---- contexts ---- */

/* Working memory of zstd in one direction, which is not freed after each text. */
struct contexts {
	pthread_mutex_t lock;
	void *kept[CONTEXTS_KEPT];
	size_t n;
};

static struct contexts writers = {.lock = PTHREAD_MUTEX_INITIALIZER}, readers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns a kept context, or NULL. */
static void *context_take(struct contexts *all)
{
	pthread_mutex_lock(&all->lock);
	assert(all->n <= CONTEXTS_KEPT);
	void *c = all->n > 0 ? all->kept[--all->n] : NULL;
	pthread_mutex_unlock(&all->lock);
	return c;
}

/* Returns false if enough contexts are kept; the caller frees this one. */
static bool context_keep(struct contexts *all, void *c)
{
	pthread_mutex_lock(&all->lock);
	bool has_room = all->n < CONTEXTS_KEPT;
	if (has_room) {
		all->kept[all->n++] = c;
	}
	pthread_mutex_unlock(&all->lock);
	return has_room;
}

/* ---- frames ---- */

static struct str common_words(void)
{
	return (struct str){words, sizeof(words) - 1};
}

/* Writes a frame that continues `before`. */
static bool frame_write(struct buf *out, struct str text, struct str before)
{
	size_t bound = ZSTD_compressBound(text.n);

	if (text.n == 0 || text.n > PACKED_TEXT_MAX || !buf_reserve(out, bound)) {
		return false;
	}
	ZSTD_CCtx *kept = context_take(&writers), *c = kept ? kept : ZSTD_createCCtx();
	assert(c);
	ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_refPrefix(c, before.p, before.n);
	size_t n = ZSTD_compress2(c, out->p + out->n, bound, text.p, text.n);
	if (ZSTD_sizeof_CCtx(c) > CONTEXT_MAX || !context_keep(&writers, c)) {
		ZSTD_freeCCtx(c);
	}
	assert(!ZSTD_isError(n));
	out->n += n;
	out->p[out->n] = '\0';
	return true;
}

/* Returns the size that a frame says its text has; 0: there is none, or it is too large. */
static size_t frame_text_size(struct str frame)
{
	unsigned long long n = ZSTD_getFrameContentSize(frame.p, frame.n);

	return n <= PACKED_TEXT_MAX ? (size_t)n : 0; /* errors are the largest numbers */
}

static int frame_text(struct str *ret, struct str frame, struct str before, struct arena *a)
{
	size_t size = frame_text_size(frame);

	/* A second frame behind the first one would not be of our making. */
	if (size == 0 || ZSTD_findFrameCompressedSize(frame.p, frame.n) != frame.n) {
		return -EBADMSG;
	}
	char *text = arena_text(a, size + 1);
	ZSTD_DCtx *kept = context_take(&readers), *c = kept ? kept : ZSTD_createDCtx();
	assert(c);
	size_t n = ZSTD_decompress_usingDict(c, text, size, frame.p, frame.n, before.p, before.n);
	if (!context_keep(&readers, c)) {
		ZSTD_freeDCtx(c);
	}
	if (n != size || arena_is_full(a)) {
		return -EBADMSG;
	}
	text[size] = '\0';
	*ret = (struct str){text, size};
	return 0;
}

/* ---- bases ---- */

static struct {
	pthread_mutex_t lock;
	struct hash_table by_name;
} bases = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct base *base_ref(struct base *b)
{
	if (b) {
		atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	}
	return b;
}

/* The last reference is dropped under the lock: base_find() must not return what is being freed. */
struct base *base_unref(struct base *b)
{
	if (!b) {
		return NULL;
	}
	uint32_t refs = atomic_load_explicit(&b->refs, memory_order_relaxed);
	while (refs > 1) {
		if (atomic_compare_exchange_weak_explicit(
			    &b->refs, &refs, refs - 1, memory_order_acq_rel, memory_order_relaxed)) {
			return NULL;
		}
	}
	pthread_mutex_lock(&bases.lock);
	bool is_last = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1;
	if (is_last) {
		hash_table_remove(&bases.by_name, &b->node);
		hash_table_trim(&bases.by_name);
	}
	pthread_mutex_unlock(&bases.lock);
	return is_last ? mem_free(b) : NULL;
}

size_t base_size(const struct base *b)
{
	return b ? sizeof(*b) + b->n_group + b->n_frame : 0;
}

/* Table locked. */
static struct base *base_look_up(struct str name)
{
	for (struct hash_node *n = hash_table_first(&bases.by_name, str_hash(name)); n; n = hash_node_next(n)) {
		struct base *b = container_of(n, struct base, node);
		if (str_eq(base_name(b), name)) {
			return base_ref(b);
		}
	}
	return NULL;
}

struct base *base_find(struct str name)
{
	pthread_mutex_lock(&bases.lock);
	struct base *b = base_look_up(name);
	pthread_mutex_unlock(&bases.lock);
	return b;
}

static void base_name_make(char ret[BASE_NAME_SIZE], struct str group, struct str text)
{
	const struct str parts[] = {group, text};
	unsigned char hash[SHA256_SIZE];

	sha256_of_parts(parts, ARRAY_SIZE(parts), hash);
	hex_write(ret, hash, BASE_NAME_SIZE / 2);
}

/* Returns the base of the table, or puts this one there. */
static struct base *base_keep(struct str name, struct str group, struct str frame)
{
	pthread_mutex_lock(&bases.lock);
	struct base *b = base_look_up(name);
	if (!b) {
		b = mem_alloc(sizeof(*b) + group.n + frame.n);
		*b = (struct base){.n_group = (uint32_t)group.n, .n_frame = (uint32_t)frame.n};
		atomic_init(&b->refs, 1);
		memcpy(b->name, name.p, BASE_NAME_SIZE);
		memcpy(b->data, group.p, group.n);
		memcpy(b->data + group.n, frame.p, frame.n);
		hash_table_add(&bases.by_name, &b->node, str_hash(name));
	}
	pthread_mutex_unlock(&bases.lock);
	return b;
}

/* The value of a base's key: its group, a line break, and the frame of its text. The name proves all of it. */
struct base *base_read(struct str name, struct str value)
{
	_cleanup_(arena_done) struct arena a;
	char made[BASE_NAME_SIZE];
	struct str group, frame, text;

	arena_init(&a, 2 * PACKED_TEXT_MAX);
	if (name.n != BASE_NAME_SIZE || !str_cut(value, '\n', &group, &frame) || group.n == 0 || group.n > BASE_GROUP_MAX ||
		frame.n > FRAME_MAX || frame_text(&text, frame, common_words(), &a)) {
		return NULL;
	}
	base_name_make(made, group, text);
	return memcmp(made, name.p, BASE_NAME_SIZE) == 0 ? base_keep(name, group, frame) : NULL;
}

struct base *base_make(struct str group, struct str text, struct buf *ret_value)
{
	char name[BASE_NAME_SIZE];

	assert(group.n > 0 && group.n <= BASE_GROUP_MAX && !memchr(group.p, '\n', group.n));
	buf_add_str(ret_value, group);
	buf_addc(ret_value, '\n');
	size_t at = ret_value->n;
	if (!frame_write(ret_value, text, common_words())) {
		return NULL;
	}
	base_name_make(name, group, text);
	struct str frame = {ret_value->p + at, ret_value->n - at};
	return base_keep((struct str){name, sizeof(name)}, group, frame);
}

static int base_text(struct str *ret, const struct base *b, struct arena *a)
{
	return frame_text(ret, (struct str){b->data + b->n_group, b->n_frame}, common_words(), a);
}

/* ---- values ---- */

static bool take(struct str *s, struct str prefix)
{
	if (!str_starts(*s, prefix)) {
		return false;
	}
	*s = (struct str){s->p + prefix.n, s->n - prefix.n};
	return true;
}

/* Returns the value behind its apiVersion; an empty text: it is not in this form. */
static struct str packed_members(struct str value)
{
	struct str kind, rest;

	if (!take(&value, STR("{\"kind\":\"")) || !str_cut(value, '"', &kind, &rest) ||
		!take(&rest, STR(",\"apiVersion\":\"annals.dev/zstd\","))) {
		return STR("");
	}
	return rest;
}

bool packed_is(struct str value)
{
	return packed_members(value).n > 0;
}

/* Takes the member `base` off, if there is one. */
static struct str take_base(struct str *members)
{
	struct str name = STR(""), rest, text = *members;

	if (take(&text, STR("\"base\":\"")) && str_cut(text, '"', &name, &rest) && take(&rest, STR(","))) {
		*members = rest;
		return name;
	}
	return STR("");
}

struct str packed_base_name(struct str value)
{
	struct str members = packed_members(value);

	return take_base(&members);
}

int packed_value_read(struct packed_value *ret, struct str value, struct arena *a)
{
	struct str members = packed_members(value), name = take_base(&members);
	size_t n;

	if (!take(&members, STR("\"zstd\":\"")) || !str_ends(members, STR("\"}")) || members.n > BASE64_SIZE(FRAME_MAX)) {
		return -EBADMSG;
	}
	const struct str digits = {members.p, members.n - 2};
	char *frame = arena_text(a, BASE64_ROOM(digits.n));
	if (!base64_decode(frame, digits, &n)) {
		return -EBADMSG;
	}
	*ret = (struct packed_value){.frame = {frame, n}, .base = name.n > 0 ? base_find(name) : NULL};
	return name.n > 0 && !ret->base ? -ENOENT : 0;
}

void packed_value_done(struct packed_value *c)
{
	c->base = base_unref(c->base);
}

int packed_text(struct str *ret, struct str frame, const struct base *base, struct arena *a)
{
	_cleanup_(arena_done) struct arena scratch;
	struct str before = common_words();

	arena_init(&scratch, 2 * PACKED_TEXT_MAX);
	return base && base_text(&before, base, &scratch) ? -EBADMSG : frame_text(ret, frame, before, a);
}

int packed_open(struct str *ret, struct str value, struct arena *a)
{
	struct packed_value c;

	if (!packed_is(value)) {
		*ret = value;
		return 0;
	}
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, 2 * FRAME_MAX);
	int r = packed_value_read(&c, value, &scratch);
	if (r) {
		return r;
	}
	r = packed_text(ret, c.frame, c.base, a);
	packed_value_done(&c);
	return r;
}

bool packed_make_frame(struct buf *out, struct str text, const struct base *base)
{
	_cleanup_(arena_done) struct arena scratch;
	struct str before = common_words();

	arena_init(&scratch, 2 * PACKED_TEXT_MAX);
	return !(base && base_text(&before, base, &scratch)) && frame_write(out, text, before);
}

void packed_write(struct buf *out, const char *kind, struct str frame, const struct base *base)
{
	buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"annals.dev/zstd\",", kind);
	if (base) {
		buf_printf(out, "\"base\":\"" STR_FMT "\",", STR_ARG(base_name(base)));
	}
	BUF_LITERAL(out, "\"zstd\":\"");
	if (buf_reserve(out, BASE64_SIZE(frame.n))) {
		base64_encode(out->p + out->n, frame);
		out->n += BASE64_SIZE(frame.n);
	}
	BUF_LITERAL(out, "\"}");
}
