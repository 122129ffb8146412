"""What the seed draws: how much is copied, and what is counted."""

from __future__ import annotations

import random
from typing import Any

FIELDS = ("shared", "copied", "taken", "early")


def draw(r: random.Random) -> dict[str, Any]:
    aligned = r.randrange(2)
    return {
        "ALIGNED": aligned,
        "WINDOW": r.choice((2, 4, 8)) if aligned else r.randrange(2, 7),
        "TAKES_NEIGHBOURS": r.randrange(2),
        "STACK": r.randrange(1, 4),
        "STACK_MUST": r.randrange(2),
        "FIELDS": r.sample(FIELDS, len(FIELDS)),
        "CHILD_COUNTS": r.randrange(2),
        "INHERITS": r.randrange(2),
        "READ_ONLY_TOO": r.randrange(2),
        "BY_WRITES": r.randrange(2),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    n, stack = p["WINDOW"], p["STACK"]
    counts = {
        "shared": "pages that forks have shared between parent and child"
        + (", in all regions" if p["READ_ONLY_TOO"] else ", in writable regions only"),
        "copied": "writes that copied at least one page"
        if p["BY_WRITES"]
        else "pages copied for writes, including neighbours",
        "taken": "pages taken over"
        + (", including neighbours" if p["TAKES_NEIGHBOURS"] else ""),
        "early": "pages that forks have copied",
    }
    return {
        "WINDOW": n,
        "NEIGHBOURS": f"the other pages of its block; a block is {n} pages from an"
        f" address that is a multiple of {n} * 4096"
        if p["ALIGNED"]
        else f"the {n - 1} page{'s' if n > 2 else ''} after it",
        "NEIGHBOUR_LAST": "is taken over, too"
        if p["TAKES_NEIGHBOURS"]
        else "stays unchanged, until the program writes to it",
        "STACK": f"{stack} page{'s' if stack > 1 else ''}",
        "STACK_FAILS": "the fork fails with ENOMEM"
        if p["STACK_MUST"]
        else "that page is shared instead",
        "COUNTS": "\n".join(
            f"  {i}. {name}: {counts[name]}" for i, name in enumerate(p["FIELDS"])
        ),
        "WHOSE": "the child's counts" if p["CHILD_COUNTS"] else "the parent's counts",
        "BEGIN": "A child begins with its parent's counts, as they were before the"
        " fork"
        if p["INHERITS"]
        else "A child begins with zeroes",
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    return {
        "kernel/mm/cow.h": f"""\
/* Copy on write: see the lab's README.md. */
#ifndef KERNEL_COW_H
#define KERNEL_COW_H

#include "aspace.h"

#define COW_WINDOW {p["WINDOW"]} /* pages: a page and its neighbours */
#define COW_STACK  {p["STACK"]} /* pages that a fork copies */
#define COW_COUNTS 4

/*
 * cow.c defines these functions. The caller holds as->lock, at level 0. child
 * is new: it has the regions of as, but no pages. No other code uses it yet.
 *
 * cow_fork gives the child the pages that as has mapped. Returns 0, or -ENOMEM:
 * then the caller frees the pages that the child already has.
 * cow_write makes the page at va, in region r, writable. r allows writes, but
 * *pte, the page's entry, lacks W. Returns 0 or -ENOMEM.
 * cow_counts stores the counts of as.
 */
int cow_fork(struct aspace *child, struct aspace *as);
int cow_write(struct aspace *as, struct region *r, uintptr_t va, pte_t *pte);
void cow_counts(const struct aspace *as, unsigned long counts[COW_COUNTS]);

/* fault.c: returns a new page with the first n bytes of from, then zeroes; or
 * NULL if there is no memory. Make all copies with it. */
void *page_copy(const void *from, size_t n);
/* For the tests: if it isn't NULL, it is called for each copy, and returns
 * whether the copy is to fail. */
extern bool (*copy_fails)(void);

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    n = p["WINDOW"]
    return {
        "FIRST(va)": f"((va) & ~({n} * PAGE_SIZE - 1UL))" if p["ALIGNED"] else "(va)",
        "TAKES_NEIGHBOURS": p["TAKES_NEIGHBOURS"],
        "STACK_MUST": p["STACK_MUST"],
        "ORDER": ", ".join(name.upper() for name in p["FIELDS"]),
        "COUNTER(child, as)": "(child)" if p["CHILD_COUNTS"] else "(as)",
        "INHERITS": p["INHERITS"],
        "READ_ONLY_TOO": p["READ_ONLY_TOO"],
        "BY_WRITES": p["BY_WRITES"],
    }
