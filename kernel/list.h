/*
 * Doubly linked lists that run through the structs they join. A list is a
 * ring that its head closes; an element not on any list points at itself.
 */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

/* The struct of the given type whose member is at ptr. */
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

#define list_each(l, head) for (l = (head)->next; l != (head); l = l->next)

/* Like list_each, for a body that may remove l; n holds what follows. */
#define list_each_safe(l, n, head) \
	for (l = (head)->next, n = l->next; l != (head); l = n, n = l->next)

static inline void
list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool
list_empty(const struct list *head)
{
	return head->next == head;
}

/* Add l as the last element. */
static inline void
list_append(struct list *head, struct list *l)
{
	l->next = head;
	l->prev = head->prev;
	head->prev->next = l;
	head->prev = l;
}

/* Take l off its list; doing so twice is harmless. */
static inline void
list_remove(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

#endif
