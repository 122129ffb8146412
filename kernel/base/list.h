/*
 * Doubly linked lists. A struct that can be on a list has a struct list as a
 * member, so adding it allocates nothing and can't fail. A list is a ring that
 * includes its head, which is in no element. An element on no list points at
 * itself, as an empty list's head does. For example, to visit all processes:
 *
 *	list_each (struct proc, p, &proc_list, all_link)
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

/* Loop over each struct x of the given type whose member is on the list. The
 * body must not remove x. */
#define list_each(type, x, head, member)                         \
	for (type *x = container_of((head)->next, type, member); \
	     &x->member != (head);                               \
	     x = container_of(x->member.next, type, member))

/* The same from the last one to the first. */
#define list_each_back(type, x, head, member)                    \
	for (type *x = container_of((head)->prev, type, member); \
	     &x->member != (head);                               \
	     x = container_of(x->member.prev, type, member))

/* Like list_each, but the body may remove x; not the element after x, which is
 * remembered already. */
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
