/* One endpoint of etcd: how it is written, and the health of the member behind it.
 *
 * gRPC takes nearly any text for a target, and complains at the first call. So the form is
 * checked here, at the start, where the operator who wrote the flag sees it. */
#include "storage/etcd/etcd_endpoint.h"
#include "proto/rpc.pb-c.h"
#include "storage/etcd/etcd_client.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>

static bool is_host_and_port(struct str s)
{
	size_t colon = s.n;
	while (colon > 0 && s.p[colon - 1] != ':') {
		colon--;
	}
	if (colon < 2) {
		return false;
	}
	struct str host = {s.p, colon - 1}, port = {s.p + colon, s.n - colon};
	uint64_t number;
	bool is_v6 = host.p[0] == '[' && host.p[host.n - 1] == ']';
	return str_to_uint64(port, &number) && number > 0 && number <= UINT16_MAX && !memchr(host.p, '/', host.n) &&
		(is_v6 || !memchr(host.p, ':', host.n));
}

static bool is_absolute_path(struct str s)
{
	return s.n > 1 && s.p[0] == '/';
}

/* gRPC could take the beginning of an address for a scheme, hence the explicit dns:. */
static const struct scheme {
	const char *prefix;
	const char *target_prefix;
	bool is_tls;
	bool (*is_valid)(struct str rest);
	const char *shape;
} schemes[] = {
	{"https://", "dns:///", true, is_host_and_port, "https://HOST:PORT"},
	{"http://", "dns:///", false, is_host_and_port, "http://HOST:PORT"},
	{"unix://", "unix:", false, is_absolute_path, "unix:///PATH"},
	{"", "dns:///", false, is_host_and_port, "HOST:PORT"},
};

int etcd_endpoint_init(struct etcd_endpoint *e, const char *text, struct buf *err)
{
	const struct scheme *scheme = schemes;
	while (!str_starts(str_of(text), str_of(scheme->prefix))) {
		scheme++;
		assert(scheme < schemes + ARRAY_SIZE(schemes)); /* the last prefix is empty */
	}
	struct str rest = str_of(text + strlen(scheme->prefix));
	if (scheme->is_valid == is_host_and_port && rest.n > 0 && rest.p[rest.n - 1] == '/') {
		rest.n--;
	}
	if (!scheme->is_valid(rest)) {
		buf_printf(err, "etcd endpoint \"%s\" should look like %s", text, scheme->shape);
		return -EINVAL;
	}
	*e = (struct etcd_endpoint){
		.target = mem_printf("%s" STR_FMT, scheme->target_prefix, STR_ARG(rest)),
		.is_tls = scheme->is_tls,
	};
	return 0;
}

void etcd_endpoint_done(struct etcd_endpoint *e)
{
	e->target = mem_free(e->target);
}

/* ---- health ----
 *
 * The doctor's questions go to one endpoint each, over a connection of their own. The store
 * would switch to another endpoint, and hide which of them is ill. Each question may fail alone,
 * and its reason is reported in its place. */

static const struct etcd_method method_status = {"/etcdserverpb.Maintenance/Status", LANE_CALLS, .is_read = true};
static const struct etcd_method method_alarm = {"/etcdserverpb.Maintenance/Alarm", LANE_CALLS, .is_read = true};

/* ---- a blocking call ---- */

struct visit {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over;
	struct arena *arena;
	enum storage_result result;
	struct str message, body;
};

static void visit_end(void *ctx, const struct etcd_reply *reply)
{
	struct visit *v = ctx;
	pthread_mutex_lock(&v->lock);
	assert(!v->is_over && reply->message);
	v->result = reply->result;
	v->message = arena_dup(v->arena, str_of(reply->message));
	v->body = arena_dup(v->arena, reply->body);
	v->is_over = true;
	pthread_cond_signal(&v->changed);
	pthread_mutex_unlock(&v->lock);
}

/* Returns the answer, which the caller frees; or NULL with the reason. */
static ProtobufCMessage *health_ask(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	const ProtobufCMessageDescriptor *answer, struct arena *a, enum storage_result *ret_result, struct str *ret_problem)
{
	struct visit v = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .arena = a};
	etcd_client_call(c, method, request, 0, visit_end, &v);
	pthread_mutex_lock(&v.lock);
	while (!v.is_over) {
		pthread_cond_wait(&v.changed, &v.lock);
	}
	pthread_mutex_unlock(&v.lock);

	ProtobufCMessage *m = NULL;
	if (v.result == STORAGE_OK) {
		m = protobuf_c_message_unpack(answer, NULL, v.body.n, (const uint8_t *)v.body.p);
		v.message = STR("its answer cannot be understood");
	}
	*ret_result = m ? STORAGE_OK : v.result ? v.result : STORAGE_ERROR;
	*ret_problem = m ? (struct str){NULL, 0} : v.message;
	return m;
}

/* ---- the two questions ---- */

static enum storage_result health_read_status(
	struct etcd_health *h, struct etcd_client *c, struct arena *a, struct str *ret_problem)
{
	Etcdserverpb__StatusRequest request = ETCDSERVERPB__STATUS_REQUEST__INIT;
	enum storage_result result;
	ProtobufCMessage *answer = health_ask(
		c, &method_status, &request.base, &etcdserverpb__status_response__descriptor, a, &result, ret_problem);
	if (!answer) {
		return result;
	}
	const Etcdserverpb__StatusResponse *m = (const Etcdserverpb__StatusResponse *)(const void *)answer;
	h->cluster = m->header ? m->header->cluster_id : 0;
	h->member = m->header ? m->header->member_id : 0;
	h->leader = m->leader;
	h->version = arena_dup(a, str_of(m->version));
	h->is_learner = m->islearner;
	protobuf_c_message_free_unpacked(answer, NULL);
	return STORAGE_OK;
}

static enum etcd_alarm_kind alarm_kind(Etcdserverpb__AlarmType type)
{
	switch (type) {
	case ETCDSERVERPB__ALARM_TYPE__NOSPACE:
		return ETCD_ALARM_NOSPACE;
	case ETCDSERVERPB__ALARM_TYPE__CORRUPT:
		return ETCD_ALARM_CORRUPT;
	default:
		return ETCD_ALARM_OTHER;
	}
}

static void health_read_alarms(struct etcd_health *h, struct etcd_client *c, struct arena *a)
{
	Etcdserverpb__AlarmRequest request = ETCDSERVERPB__ALARM_REQUEST__INIT;
	enum storage_result result;
	ProtobufCMessage *answer = health_ask(
		c, &method_alarm, &request.base, &etcdserverpb__alarm_response__descriptor, a, &result, &h->alarms_problem);
	if (!answer) {
		return;
	}
	const Etcdserverpb__AlarmResponse *m = (const Etcdserverpb__AlarmResponse *)(const void *)answer;
	h->alarms = arena_array(a, struct etcd_alarm, m->n_alarms);
	h->n_alarms = m->n_alarms;
	for (size_t i = 0; i < m->n_alarms; i++) {
		h->alarms[i] = (struct etcd_alarm){.member = m->alarms[i]->memberid, .kind = alarm_kind(m->alarms[i]->alarm)};
	}
	protobuf_c_message_free_unpacked(answer, NULL);
}

int etcd_health_read(struct etcd_health *ret, const struct storage_etcd_options *options, struct arena *a, struct buf *err)
{
	struct etcd_client *c;
	struct etcd_health h = {0};
	struct str problem;
	int r = etcd_client_new(&c, options, err);
	if (r < 0) {
		return error_trace(r);
	}
	enum storage_result result = health_read_status(&h, c, a, &problem);
	if (result == STORAGE_OK) {
		if (h.leader) {
			/* alarms are asked of the whole cluster, which would wait for a leader */
			health_read_alarms(&h, c, a);
		}
		*ret = h;
	} else {
		buf_add_str(err, problem);
	}
	etcd_client_free(c);
	return (int)result;
}
