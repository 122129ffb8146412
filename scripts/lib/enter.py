"""Enters a command of the package tally: the name of its module, and the command's own
words. common.sh calls it, with the checkout in PYTHONPATH."""

import importlib
import sys

sys.exit(importlib.import_module(f"tally.{sys.argv.pop(1)}").entry())
