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

/* For each struct x of the given type whose member is on the list. */
#define list_each(type, x, head, member)                         \
	for (type *x = container_of((head)->next, type, member); \
	     &x->member != (head);                               \
	     x = container_of(x->member.next, type, member))

/* Like list_each, for a body that may remove x, but nothing else. */
#define list_each_safe(type, x, head, member)                       \
	for (type *x = container_of((head)->next, type, member),    \
		  *n_ = container_of(x->member.next, type, member); \
	     &x->member != (head);                                  \
	     x = n_, n_ = container_of(n_->member.next, type, member))

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
