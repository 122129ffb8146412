"""The host's side of Tally: docs/tour.md describes its floors."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # the checkout
