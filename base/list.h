/* Intrusive doubly linked ring. A head and an unlinked node both point to themselves. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/base.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(l) {&(l), &(l)}

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}
static inline bool list_is_empty(const struct list *l)
{
	return l->next == l;
}
static inline void list_add_before(struct list *at, struct list *node)
{
	node->prev = at->prev;
	node->next = at;
	at->prev->next = node;
	at->prev = node;
}
#define list_append(head, node) list_add_before((head), (node))
static inline void list_remove(struct list *node) /* harmless on an unlinked node */
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}
/* Moves everything from `from` to the end of `to`. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_is_empty(from)) {
		return;
	}
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}
#define list_entry(node, type, member) container_of((node), type, member)
#define list_for_each(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)
#define list_for_each_safe(it, head) \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head); it = it##_next, it##_next = it->next)

#endif
