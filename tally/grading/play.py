"""What a test has played: its script with the answers, for who wants to see it."""

from __future__ import annotations

from typing import Optional

from tally.grading.script import Step, Test, cut, data


def played(test: Test, answers: dict[str, str], at: Optional[Step]) -> list[str]:
    """Up to the step that failed; None: none did. If that one has no answer, another
    process may be why: then what the others did comes, too, and where each waits."""
    if at is not None and at.token in answers:
        steps = test.steps[: test.steps.index(at) + 1]
    else:
        reached = {
            step.token
            for _, done, now in test.progress(answers)
            for step in (*done, now)
            if step
        }
        steps = [step for step in test.steps if step.token in reached]
    return [line(test, answers, step) for step in steps]


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
    return (
        f"{cut(answer)} {cut(got)!r}"
        if len(got) > 1 and got.isprintable()
        else (cut(answer))
    )
