/* The doctor's questions go to one endpoint each, over a connection of their own: the store's would
 * go on to another endpoint, and hide which of them is ill. Each may fail alone, and its reason is
 * told in its place. */
#include "storage/etcd/etcd_health.h"

#include "proto/rpc.pb-c.h"
#include "storage/etcd/etcd_client.h"

#include <pthread.h>

static const struct etcd_method method_status = {"/etcdserverpb.Maintenance/Status", LANE_CALLS, .is_read = true};
static const struct etcd_method method_alarm = {"/etcdserverpb.Maintenance/Alarm", LANE_CALLS, .is_read = true};
static const struct etcd_method method_members = {"/etcdserverpb.Cluster/MemberList", LANE_CALLS, .is_read = true};

/* ---- a call that is waited for ---- */

struct visit {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over;
	struct arena *arena;
	enum storage_result result;
	struct str message, body;
};

static void on_reply(void *ctx, const struct etcd_reply *reply)
{
	struct visit *v = ctx;
	pthread_mutex_lock(&v->lock);
	v->result = reply->result;
	v->message = arena_dup(v->arena, str_of(reply->message));
	v->body = arena_dup(v->arena, reply->body);
	v->is_over = true;
	pthread_cond_signal(&v->changed);
	pthread_mutex_unlock(&v->lock);
}

/* The answer, to be freed; or NULL with the reason. */
static ProtobufCMessage *ask(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	const ProtobufCMessageDescriptor *answer, struct arena *a, enum storage_result *ret_result, struct str *ret_problem)
{
	struct visit v = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .arena = a};
	etcd_client_call(c, method, request, 0, on_reply, &v);
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

/* ---- the three questions ---- */

static enum storage_result read_status(struct etcd_health *h, struct etcd_client *c, struct arena *a, struct str *ret_problem)
{
	Etcdserverpb__StatusRequest request = ETCDSERVERPB__STATUS_REQUEST__INIT;
	enum storage_result result;
	ProtobufCMessage *answer =
		ask(c, &method_status, &request.base, &etcdserverpb__status_response__descriptor, a, &result, ret_problem);
	if (!answer) {
		return result;
	}
	const Etcdserverpb__StatusResponse *m = (const Etcdserverpb__StatusResponse *)(const void *)answer;
	h->cluster = m->header ? m->header->cluster_id : 0;
	h->member = m->header ? m->header->member_id : 0;
	h->leader = m->leader;
	h->version = arena_dup(a, str_of(m->version));
	h->size = m->dbsize;
	h->in_use = m->dbsizeinuse;
	h->quota = m->dbsizequota;
	h->is_learner = m->islearner;
	protobuf_c_message_free_unpacked(answer, NULL);
	return STORAGE_OK;
}

static void read_members(struct etcd_health *h, struct etcd_client *c, struct arena *a)
{
	Etcdserverpb__MemberListRequest request = ETCDSERVERPB__MEMBER_LIST_REQUEST__INIT;
	enum storage_result result;
	ProtobufCMessage *answer = ask(c, &method_members, &request.base, &etcdserverpb__member_list_response__descriptor, a,
		&result, &h->members_problem);
	if (!answer) {
		return;
	}
	const Etcdserverpb__MemberListResponse *m = (const Etcdserverpb__MemberListResponse *)(const void *)answer;
	h->members = arena_array(a, struct etcd_member, m->n_members);
	h->n_members = m->n_members;
	for (size_t i = 0; i < m->n_members; i++) {
		const Etcdserverpb__Member *member = m->members[i];
		h->members[i] = (struct etcd_member){
			.id = member->id,
			.name = arena_dup(a, str_of(member->name)),
			.client_url = arena_dup(a, str_of(member->n_clienturls ? member->clienturls[0] : NULL)),
			.is_learner = member->islearner,
		};
	}
	protobuf_c_message_free_unpacked(answer, NULL);
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

static void read_alarms(struct etcd_health *h, struct etcd_client *c, struct arena *a)
{
	Etcdserverpb__AlarmRequest request = ETCDSERVERPB__ALARM_REQUEST__INIT;
	enum storage_result result;
	ProtobufCMessage *answer =
		ask(c, &method_alarm, &request.base, &etcdserverpb__alarm_response__descriptor, a, &result, &h->alarms_problem);
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
	enum storage_result result = read_status(&h, c, a, &problem);
	if (result == STORAGE_OK) {
		read_members(&h, c, a);
		if (h.leader) {
			read_alarms(&h, c, a); /* etcd asks the whole cluster, and would wait for a leader */
		}
		*ret = h;
	} else {
		buf_add_str(err, problem);
	}
	etcd_client_free(c);
	return (int)result;
}
