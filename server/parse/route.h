/* Parses method and path into the request's target, as k8s.io/apiserver pkg/endpoints/request
 * RequestInfo does.
 *
 * The room reads what a client sends and decides nothing: method and path (here), the query
 * (params.h), media types of body and answer (negotiate.h), and continue tokens (continue.h). Each
 * function takes texts and an arena. It returns 0, or 1 with kube-apiserver's error in a `struct
 * status`. A route may be bad, and the request goes on until it is known whether the user may see
 * why: server/request/head.c reports route_status then. Nothing blocks and nothing is shared, so
 * every function may be called on any thread; fuzzers call them, too (tests/fuzz). */
#ifndef SERVER_PARSE_ROUTE_H
#define SERVER_PARSE_ROUTE_H

#include "api/model/kind.h"
#include "server/parse/params.h"

enum method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_PUT, METHOD_PATCH, METHOD_DELETE, METHOD_OPTIONS, METHOD_OTHER };

struct route {
	enum method method;
	struct str path;             /* unescaped */
	struct params params;
	bool is_resource;            /* /api/V/... or /apis/G/V/...: authorized as a resource, whether it exists or not */
	struct str group, version_name, resource, ns, name, subresource;
	bool has_ns;                 /* .../namespaces/NS/... */
	bool is_watch;
	bool is_old_watch;           /* /watch/... */
	const char *verb;            /* for authorization: "get", "deletecollection", ...; non-resource: lower-case method */

	bool is_findable;            /* the path has the form of a resource's */
	const struct kind *kind;     /* NULL: no such resource */
	const struct version *version;
	const struct subresource *sub;
	const struct kind
		*body_kind; /* of what is sent and answered: kind and version, but where sub is a view of another kind */
	const struct version *body_version;
	enum verb action;            /* when kind is set and route_resolve() found a verb */
};

/* 0; or 1 with a 400 in st (malformed escapes, too many parameters, "." and ".." as names). Only slices of `target` or arena memory. */
int route_parse(struct route *ret, struct str method, struct str target, bool is_standalone, struct arena *a, struct status *st);
/* Looks for a resource that the program does not have among the kinds that definitions describe. The
 * caller holds the table for as long as it uses the route. Returns whether it is there. */
bool route_find(struct route *r, const struct kinds *defined);
/* For a resource route: finds what it does. 0; or 1 with 404 or 405 in st. */
int route_resolve(struct route *r, struct status *st);
/* Returns true when the program has kinds of the group. Other groups, those of definitions too, answer for an absent
 * resource as for an unknown path, not with a Status. */
bool group_is_of_program(struct str group, bool is_standalone);
/* Is there nothing at such a path: no resource, or only one of the other scope, in a group that is not the program's? */
bool route_is_no_path(const struct route *r, bool is_standalone);

#endif
