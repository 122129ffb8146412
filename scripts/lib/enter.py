"""Enters a command of the package tally: its module's name, then the command's own
words. common.sh calls it, and here alone Python is told where the package lies: a path
with a colon would be two in PYTHONPATH, and the folder in which we are may have
anything in it."""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.exit(importlib.import_module(f"tally.{sys.argv.pop(1)}").entry())
