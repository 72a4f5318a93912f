/* Shared by the parts of the recording controller. */
#ifndef CONTROLLERS_RECORDER_CORE_H
#define CONTROLLERS_RECORDER_CORE_H

#include "controllers/kit/counters.h"
#include "controllers/kit/event_writer.h"
#include "controllers/recorder/ledger.h"

enum recorder_counter {
	RECORDER_CREATED,
	RECORDER_CHANGED,
	RECORDER_DELETED,
	RECORDER_RELEASED,
	RECORDER_ADOPTED,
	RECORDER_RERECORDED,
	RECORDER_SKIPPED,
	RECORDER_CONFLICTS,
	RECORDER_RETRIES,
	RECORDER_REFUSED,
	RECORDER_EXPIRED,
	RECORDER_DROPPED,
	RECORDER_TRIMMED,
	RECORDER_STATUS_WRITES,
	RECORDER_RECORDINGS,
};

enum { RECORDER_WORKERS = 8 }; /* they mostly wait for etcd's disk */

struct recorder_core {
	struct controller_run run;
	struct ledger *ledger;
	struct event_writer *events;
	/* NULL until a Recorder needs it. Created before the first follow that needs it; workers
	 * may read it meanwhile. */
	struct informer *_Atomic namespaces;
	struct counters counters;
	_Atomic int64_t alone_until_ms; /* until then each change is written by a request of its own (scribe.c) */
	/* Wakes the controller's own thread; discover_soon() makes it also read discovery soon. */
	void (*wake)(struct recorder_core *core);
	void (*discover_soon)(struct recorder_core *core);
};

extern const struct resource recorders_resource, histories_resource;

void recorder_notice(struct recorder_core *core, bool is_problem, const char *format, ...) _printf_(3, 4);
/* Writes an Event about a Recorder. */
void recorder_event(
	struct recorder_core *core, const struct recording *about, bool is_warning, struct str reason, struct str message);

#endif
