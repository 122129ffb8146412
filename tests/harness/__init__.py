"""Helpers of the tests: booting commands, consoles, checks, expectations."""
