/* Lease: who holds something, and since when: what leader election agrees on. */
#include "api/rules/validate.h"

static const struct type strategy_type = {.kind = TYPE_STRING, .go_type = "v1.CoordinatedLeaseStrategy"};

static const struct field spec_fields[] = {
	{"holderIdentity", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Who holds the lease. Empty: nobody.", NULL, NULL},
	{"leaseDurationSeconds", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
		"How long others wait after renewTime, as they saw it change, before they take the lease.", NULL, NULL},
	{"acquireTime", &type_micro_time, FIELD_NUMBER(3), "When the holder took the lease.", NULL, NULL},
	{"renewTime", &type_micro_time, FIELD_NUMBER(4), "When the holder last said that it still holds the lease.", NULL,
		NULL},
	{"leaseTransitions", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(5), "How often the lease has changed hands.", NULL,
		NULL},
	{"strategy", &strategy_type, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
		"How a coordinator picks the holder. Coordinated leader election is off: dropped.", NULL, NULL},
	{"preferredHolder", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
		"Who should hold the lease instead. Coordinated leader election is off: dropped.", NULL, NULL},
	{0},
};

static const struct type spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.coordination.v1.LeaseSpec",
	.go_type = "v1.LeaseSpec",
	.doc = "Who holds a lease, and since when.",
	.fields = spec_fields,
};

static const struct field lease_fields[] = {
	OBJECT_FIELDS,
	{"spec", &spec_type, FIELD_ALWAYS | FIELD_NUMBER(2), "Who holds the lease, and since when.", NULL, NULL},
	{0},
};

static const struct type lease_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.coordination.v1.Lease",
	.go_type = "v1.Lease",
	.doc = "Something that one at a time holds, and renews while it does.",
	.fields = lease_fields,
};

static const struct json *spec(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

/* What the gate CoordinatedLeaderElection, which is off in Kubernetes unless somebody turns it on, takes away. */
static void drop_coordination(struct object *o, struct arena *a)
{
	static const char *const names[] = {"strategy", "preferredHolder"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (json_gets(spec(o), names[i])) {
			struct json *kept = json_copy(a, spec(o));
			json_remove(kept, str_of(names[i]));
			json_set(a, o->fields, STR("spec"), kept);
		}
	}
}

static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	(void)old;
	drop_coordination(o, a);
}

static void validate_at_least(
	const struct object *o, const char *name, int64_t least, const char *detail, struct field_errors *errors)
{
	const struct json *value = json_gets(spec(o), name);
	int64_t n;
	if (json_to_int64(value, &n) && n < least) {
		field_invalid(errors, field_path(errors->arena, STR("spec"), name), value, "%s", detail);
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_at_least(o, "leaseDurationSeconds", 1, "must be greater than 0", errors);
	validate_at_least(o, "leaseTransitions", 0, "must be greater than or equal to 0", errors);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	validate(o, errors);
}

static void write_holder(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(json_gets(spec(o), "holderIdentity")));
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Holder", "string", "",
		"holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is "
		"used, "
		"the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
		0, write_holder, false},
	COLUMN_AGE,
};

static const struct door doors[] = {
	{.group = "coordination.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.coordination.v1.Lease",
		.standalone_only = true},
};

static struct kind leases = {
	.kind = "Lease",
	.list_kind = "LeaseList",
	.resource = "leases",
	.singular = "lease",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.any_finalizer = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &lease_type,
	.doc = "Something that one at a time holds, and renews while it does.",
	.create_on_update = true,
	.keeps_generation = true,
	.prepare_create = drop_coordination,
	.prepare_update = prepare_update,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(leases)
