/* Most who call these commands have one `annals up` in its default directory: they need no flag. */
#include "cli/fsck/data_flags.h"

#include "cli/common/command.h"
#include "cli/common/datadir.h"

#include <errno.h>
#include <unistd.h>

void data_flags_init(struct data_flags *f)
{
	*f = (struct data_flags){0};
	etcd_flags_init(&f->etcd_flags);
}

void data_flags_done(struct data_flags *f)
{
	etcd_flags_done(&f->etcd_flags);
}

size_t data_flags_rows(struct data_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Data directory"),
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR",
			"The directory of an `annals up`; by default the one that `annals up` takes. Its etcd is started "
			"where it does not run."),
		FLAG("etcd", OPTION_STRING, &f->etcd, "PATH", "The etcd to start; the one in $PATH by default."),
	};
	_Static_assert(ARRAY_SIZE(rows) + ETCD_FLAGS_MAX <= DATA_FLAGS_MAX, "tables must have room for all");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows) + etcd_flags_rows(&f->etcd_flags, ret + ARRAY_SIZE(rows));
}

int data_flags_check(const struct data_flags *f, struct buf *err)
{
	if (f->etcd_flags.servers.n && f->data_dir) {
		return command_refuse(err, "--etcd-servers and --data-dir do not go together: give one of them");
	}
	if (f->etcd && f->etcd_flags.servers.n) {
		return command_refuse(err, "--etcd goes with --data-dir");
	}
	return etcd_flags_check(&f->etcd_flags, err);
}

static int open_default(const struct data_flags *f, struct fsck_store *ret, struct buf *err)
{
	_cleanup_(mem_freep) char *dir = datadir_default();
	_cleanup_(mem_freep) char *data = mem_printf("%s/etcd", dir);
	if (access(data, F_OK) == 0) {
		return fsck_store_open_dir(ret, dir, f->etcd, err);
	}
	fsck_store_init(ret);
	buf_printf(err,
		"there is no store in %s, the directory that annals up takes by default. Run annals up first, or give "
		"--data-dir or --etcd-servers",
		dir);
	return -ENOENT;
}

int data_flags_open(const struct data_flags *f, struct fsck_store *ret, struct buf *err)
{
	if (f->etcd_flags.servers.n) {
		const struct storage_etcd_options options = etcd_flags_options(&f->etcd_flags);
		return fsck_store_open(ret, &options, err);
	}
	return f->data_dir ? fsck_store_open_dir(ret, f->data_dir, f->etcd, err) : open_default(f, ret, err);
}
