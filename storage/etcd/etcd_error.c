/* etcd's codes do not tell a refusal from a loss: UNAVAILABLE is both. Its texts do, so rules look
 * for those first, in order, and the codes alone come last. What no rule knows counts as "perhaps"
 * for a write: a wrong "no" would make somebody write twice. */
#include "storage/etcd/etcd_error.h"

/* https://github.com/grpc/grpc/blob/master/doc/statuscodes.md; <grpc/status.h> has them too, behind the fence. */
enum status_code {
	ANY = -1,
	CODE_OK = 0,
	CODE_CANCELLED = 1,
	CODE_INVALID_ARGUMENT = 3,
	CODE_DEADLINE_EXCEEDED = 4,
	CODE_NOT_FOUND = 5,
	CODE_ALREADY_EXISTS = 6,
	CODE_PERMISSION_DENIED = 7,
	CODE_FAILED_PRECONDITION = 9,
	CODE_OUT_OF_RANGE = 11,
	CODE_UNIMPLEMENTED = 12,
	CODE_UNAVAILABLE = 14,
	CODE_UNAUTHENTICATED = 16,
};

struct rule {
	int code;
	const char *text; /* occurs in the details; NULL: whatever they are */
	enum storage_result read;
	enum storage_result write;
	bool is_local;
};

/* The first that fits counts. Texts: etcd's api/v3rpc/rpctypes/error.go, grpc-go's rpc_util.go, gRPC core's message_size_filter.cc
 * and pick_first.cc. */
static const struct rule rules[] = {
	{CODE_OK, NULL, STORAGE_OK, STORAGE_OK, false},

	{ANY, "required revision has been compacted", STORAGE_COMPACTED, STORAGE_COMPACTED, false},
	{ANY, "required revision is a future revision", STORAGE_FUTURE, STORAGE_FUTURE, false},
	{ANY, "requested lease not found", STORAGE_LEASE_GONE, STORAGE_LEASE_GONE, false},

	{ANY, "etcdserver: request is too large", STORAGE_TOO_LARGE, STORAGE_TOO_LARGE, false},
	{ANY, "grpc: received message larger than max", STORAGE_TOO_LARGE, STORAGE_TOO_LARGE, false},
	/* The answer is too large, to send or (core's capital) for us to take: a write was carried out by then. */
	{ANY, "grpc: trying to send message larger than max", STORAGE_TOO_LARGE, STORAGE_UNKNOWN, false},
	{ANY, "Received message larger than max", STORAGE_TOO_LARGE, STORAGE_UNKNOWN, false},

	/* Never sent. */
	{CODE_UNAVAILABLE, "failed to connect to all addresses", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{CODE_UNAVAILABLE, "DNS resolution failed", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	/* Refused before anything was proposed: the interceptor that looks for a leader, raft without one, the bound on proposals. */
	{ANY, "etcdserver: no leader", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{ANY, "raft proposal dropped", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{ANY, "etcdserver: too many requests", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, false},
	/* The write that crosses the quota is applied *and* answered so (server/etcdserver/apply: quotaApplierV3); those after it
	 * are refused in the same words. */
	{ANY, "database space exceeded", STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, false},

	{ANY, "etcdserver: request timed out", STORAGE_TIMEOUT, STORAGE_TIMEOUT, true},
	{CODE_DEADLINE_EXCEEDED, NULL, STORAGE_TIMEOUT, STORAGE_TIMEOUT, true},
	{CODE_UNAVAILABLE, NULL, STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{CODE_CANCELLED, NULL, STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},

	{CODE_INVALID_ARGUMENT, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_NOT_FOUND, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_ALREADY_EXISTS, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_PERMISSION_DENIED, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_FAILED_PRECONDITION, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_OUT_OF_RANGE, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_UNIMPLEMENTED, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_UNAUTHENTICATED, NULL, STORAGE_ERROR, STORAGE_ERROR, false},

	{ANY, NULL, STORAGE_ERROR, STORAGE_UNKNOWN, false},
};

static bool rule_fits(const struct rule *rule, int code, struct str text)
{
	return (rule->code == ANY || rule->code == code) && (!rule->text || str_contains(text, str_of(rule->text)));
}

struct etcd_verdict etcd_judge(int code, struct str text, bool is_read)
{
	const struct rule *rule = rules;
	while (!rule_fits(rule, code, text)) {
		rule++;
	}
	return (struct etcd_verdict){.result = is_read ? rule->read : rule->write, .is_local = rule->is_local};
}
