/* What the parts of the recording controller share. */
#ifndef CONTROLLERS_RECORDER_CORE_H
#define CONTROLLERS_RECORDER_CORE_H

#include "client/informer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/counters.h"
#include "controllers/kit/recorder.h"
#include "controllers/recorder/ledger.h"

enum recorder_counter {
	RECORDER_CREATED,
	RECORDER_CHANGED,
	RECORDER_DELETED,
	RECORDER_CONFLICTS,
	RECORDER_RETRIES,
	RECORDER_REFUSED,
	RECORDER_EXPIRED,
	RECORDER_STATUS_WRITES,
};

struct recorder_core {
	const struct controller_env *env;
	struct ledger *ledger;
	struct workqueue *queue;
	struct recorder *events; /* or NULL */
	/* NULL while no Recorder asks for them; made before whoever needs it, and read by workers meanwhile. */
	struct informer *_Atomic namespaces;
	struct counters counters;
	/* The controller's own thread is to look again; soon also at what is served. */
	void (*wake)(struct recorder_core *core);
	void (*discover_soon)(struct recorder_core *core);
};

extern const struct resource recorders_resource, histories_resource;

void recorder_notice(struct recorder_core *core, bool is_problem, const char *format, ...) _printf_(3, 4);
/* An Event of a Recorder. */
void recorder_event(
	struct recorder_core *core, const struct recording *about, bool is_warning, struct str reason, struct str message);

#endif
