"""What a test has played: its script with the answers, for who wants to see it."""

from __future__ import annotations

from typing import Optional

from script import Step, Test, cut, data


def played(test: Test, answers: dict[str, str], at: Optional[Step]) -> list[str]:
    """Up to the step that failed; None: none did. If that one has no answer, another
    process may be why: then what the others did comes, too, and where each waits."""
    if at is not None and at.token in answers:
        return [line(test, answers, step) for step in upto(test.steps, at)]
    lines: list[str] = []
    silent: set[str] = set()  # processes of which a step has no answer
    before = ""  # who did the step before: the parent, where a child begins
    known = {""}
    for step in test.steps:
        if step.process not in known and before in silent:
            silent.add(step.process)  # it hasn't begun
        known.add(step.process)
        before = step.process
        if step.process not in silent:
            lines.append(line(test, answers, step))
        if step.token not in answers:
            silent.add(step.process)
    return lines


def upto(steps: list[Step], last: Step) -> list[Step]:
    return steps[: next(i for i, step in enumerate(steps) if step is last) + 1]


def line(test: Test, answers: dict[str, str], step: Step) -> str:
    who = f"{test.children[step.process]}: " if step.process else ""
    answer = answers.get(step.token)
    came = "no answer" if answer is None else decoded(answer)
    return f"{who}{cut(step.text)} -> {came}"


def decoded(answer: str) -> str:
    """As it is; and as text, if it is one."""
    try:
        got = data(answer).decode("ascii")
    except ValueError:
        got = ""
    return f"{cut(answer)} {cut(got)!r}" if len(got) > 1 and got.isprintable() else (
        cut(answer)
    )
