"""What a test has played: its script with the answers, for who wants to see it."""

from __future__ import annotations

from typing import Optional

from script import Step, Test, cut

SHOWN = 16  # bytes of an answer


def played(test: Test, answers: dict[str, str], at: Optional[Step]) -> list[str]:
    """Up to the step that failed; None: none did, but what they cost."""
    lines = []
    for step in test.steps:
        child = step.process.rpartition(" ")[2]
        line = f"child {child}: {cut(step.text)}" if child else cut(step.text)
        if step.token in answers:
            line += f" -> {decoded(answers[step.token])}"
        lines.append(line)
        if step is at:
            break
    return lines


def decoded(answer: str) -> str:
    """A result, and the bytes that came with it, one by one and as text."""
    result, _, digits = answer.partition(" ")
    try:
        got = bytes.fromhex(digits)
    except ValueError:
        return cut(answer)
    if not got:
        return result
    text = f"{result}: {got[:SHOWN].hex(' ')}{' ..' * (len(got) > SHOWN)}"
    is_text = got.isascii() and got.decode().isprintable()
    return f"{text} {cut(got.decode())!r}" if is_text else text
