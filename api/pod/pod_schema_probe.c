/* What is done to containers: probes and handlers. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_exec_action = {
	CORE_OBJECT("ExecAction", "A command run in the container."),
	.fields =
		(const struct field[]){
			{"command", &type_string_list, FIELD_NUMBER(1), "Program and arguments; there is no shell.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_http_header = {
	CORE_OBJECT("HTTPHeader", "A header of a request."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the header.", NULL,
				NULL},
			{"value", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Its value.", NULL, NULL},
			{0},
		},
};

static const struct type type_uri_scheme = {.kind = TYPE_STRING, .go_type = "v1.URIScheme"};
static const struct type list_http_headers = LIST_OF(type_http_header);

static const struct type type_http_get_action = {
	CORE_OBJECT("HTTPGetAction", "A GET request."),
	.fields =
		(const struct field[]){
			{"path", &type_string, FIELD_SILENT_DEFAULT | FIELD_NUMBER(1), "Path of the URL.", NULL, "\"/\""},
			{"port", &type_int_or_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Number or name of the port.", NULL, NULL},
			{"host", &type_string, FIELD_NUMBER(3), "Host to connect to; the pod where empty.", NULL, NULL},
			{"scheme", &type_uri_scheme, FIELD_SILENT_DEFAULT | FIELD_NUMBER(4), "HTTP or HTTPS.", NULL,
				"\"HTTP\""},
			{"httpHeaders", &list_http_headers, FIELD_NUMBER(5), "Headers to send.", NULL, NULL},
			{0},
		},
};

static const struct type type_tcp_socket_action = {
	CORE_OBJECT("TCPSocketAction", "A connection to a port."),
	.fields =
		(const struct field[]){
			{"port", &type_int_or_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Number or name of the port.", NULL, NULL},
			{"host", &type_string, FIELD_NUMBER(2), "Host to connect to; the pod where empty.", NULL, NULL},
			{0},
		},
};

static const struct type type_grpc_action = {
	CORE_OBJECT("GRPCAction", "A question to the gRPC health service."),
	.fields =
		(const struct field[]){
			{"port", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Number of the port.", NULL,
				NULL},
			{"service", &type_string, FIELD_ALWAYS | FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"Which service is asked about.", NULL, "\"\""},
			{0},
		},
};

static const struct type type_sleep_action = {
	CORE_OBJECT("SleepAction", "A wait."),
	.fields =
		(const struct field[]){
			{"seconds", &type_int64, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "How long.", NULL, NULL},
			{0},
		},
};

const struct type type_probe = {
	CORE_OBJECT("Probe", "How to find out about the state of a container."),
	.embedded = "ProbeHandler",
	.fields =
		(const struct field[]){
			{"exec", &type_exec_action, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(1, 1), "Run a command; 0 is success.",
				NULL, NULL},
			{"httpGet", &type_http_get_action, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(1, 2),
				"Make a GET request; 200 to 399 is success.", NULL, NULL},
			{"tcpSocket", &type_tcp_socket_action, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(1, 3), "Open a connection.",
				NULL, NULL},
			{"grpc", &type_grpc_action, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(1, 4), "Ask the gRPC health service.",
				NULL, NULL},
			{"initialDelaySeconds", &type_int32, FIELD_NUMBER(2),
				"How long after the container's start probing begins.", NULL, NULL},
			{"timeoutSeconds", &type_int32, FIELD_SILENT_DEFAULT | FIELD_NUMBER(3), "How long an answer may take.",
				NULL, "1"},
			{"periodSeconds", &type_int32, FIELD_SILENT_DEFAULT | FIELD_NUMBER(4), "How often it is probed.", NULL,
				"10"},
			{"successThreshold", &type_int32, FIELD_SILENT_DEFAULT | FIELD_NUMBER(5),
				"How many successes in a row make it successful again.", NULL, "1"},
			{"failureThreshold", &type_int32, FIELD_SILENT_DEFAULT | FIELD_NUMBER(6),
				"How many failures in a row make it failed.", NULL, "3"},
			{"terminationGracePeriodSeconds", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"How long the container may take to stop when the probe fails.", NULL, NULL},
			{0},
		},
};

static const struct type type_lifecycle_handler = {
	CORE_OBJECT("LifecycleHandler", "One thing to be done; exactly one member may be set."),
	.fields =
		(const struct field[]){
			{"exec", &type_exec_action, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Run a command.", NULL, NULL},
			{"httpGet", &type_http_get_action, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Make a GET request.", NULL,
				NULL},
			{"tcpSocket", &type_tcp_socket_action, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"Not supported; kept for old objects.", NULL, NULL},
			{"sleep", &type_sleep_action, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Wait.", NULL, NULL},
			{0},
		},
};

static const struct type type_signal = {.kind = TYPE_STRING, .go_type = "v1.Signal"};

const struct type type_lifecycle = {
	CORE_OBJECT("Lifecycle", "What is done at the ends of a container's life."),
	.fields =
		(const struct field[]){
			{"postStart", &type_lifecycle_handler, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Done right after the start.", NULL, NULL},
			{"preStop", &type_lifecycle_handler, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Done before the stop.", NULL,
				NULL},
			{"stopSignal", &type_signal, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Signal that stops it.", NULL, NULL},
			{0},
		},
};
