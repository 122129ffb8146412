"""What a test has played: its script with the answers, for who wants to see it."""

from __future__ import annotations

from typing import Optional

from script import Step, Test, cut, data


def played(test: Test, answers: dict[str, str], at: Optional[Step]) -> list[str]:
    """Up to the step that failed; None: none did."""
    lines = []
    for step in test.steps:
        line = cut(step.text)
        if step.process:
            line = f"{test.children[step.process]}: {line}"
        if step.token in answers:
            line += f" -> {decoded(answers[step.token])}"
        lines.append(line)
        if step is at:
            break
    return lines


def decoded(answer: str) -> str:
    """As it is; and as text, if it is one."""
    try:
        got = data(answer).decode("ascii")
    except ValueError:
        got = ""
    return f"{cut(answer)} {cut(got)!r}" if len(got) > 1 and got.isprintable() else (
        cut(answer)
    )
