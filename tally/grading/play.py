"""Shows a test's script with the answers."""

from __future__ import annotations

from typing import Optional

from tally.grading.script import Step, Test, cut, data


def played(test: Test, answers: dict[str, str], at: Optional[Step]) -> list[str]:
    """Returns the steps up to the failed one (None: none failed). If that has no
    answer, another process may be the cause, so each process's steps are shown, up to
    the one where it waits."""
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
    """Returns the answer, and its bytes as text if they are printable."""
    try:
        got = data(answer).decode("ascii")
    except ValueError:
        got = ""
    return (
        f"{cut(answer)} {cut(got)!r}"
        if len(got) > 1 and got.isprintable()
        else (cut(answer))
    )
