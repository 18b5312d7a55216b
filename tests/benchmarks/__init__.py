"""Speed, measured on purpose: `python -m tests.benchmarks STORE`. Never part of the test run.

Every figure is a ratio within one run, or stands beside what it is compared with: the machine's own speed drifts.
"""
