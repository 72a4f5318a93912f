/* Memory is chosen by name, and never because no etcd was found: whoever wants data kept must not
 * lose them for a program that is missing. */
#include "cli/run/store_flags.h"

#include "cli/common/command.h"

enum { MEMORY_LIMIT_MIB = 512, MEMORY_LIMIT_MIB_MAX = 1024 * 1024 };

void store_flags_init(struct store_flags *f)
{
	*f = (struct store_flags){.name = "etcd", .memory_limit_mib = MEMORY_LIMIT_MIB};
}

void store_flags_rows(struct store_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Store"),
		FLAG("store", OPTION_STRING, &f->name, "etcd|memory",
			"Where objects are. memory needs no etcd, and keeps nothing: objects are gone when annals ends."),
		{"memory-limit-mib", OPTION_INT, &f->memory_limit_mib, "N",
			"With --store=memory: how much objects and their history may take. Old history goes first; then writes "
			"are "
			"refused, as by an etcd that is full.",
			1, MEMORY_LIMIT_MIB_MAX},
	};
	_Static_assert(ARRAY_SIZE(rows) <= STORE_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
}

int store_flags_check(struct store_flags *f, bool names_etcd, struct buf *err)
{
	f->is_memory = strcmp(f->name, "memory") == 0;
	if (!f->is_memory && strcmp(f->name, "etcd") != 0) {
		return command_refuse(err, "--store %s: must be etcd or memory", f->name);
	}
	if (f->is_memory && names_etcd) {
		return command_refuse(err, "--store=memory uses no etcd: it goes neither with --etcd nor with --etcd-servers");
	}
	return 0;
}

int64_t store_flags_memory_limit(const struct store_flags *f)
{
	return f->is_memory ? f->memory_limit_mib << 20 : 0;
}
