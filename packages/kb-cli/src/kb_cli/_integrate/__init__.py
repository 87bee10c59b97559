"""Registering ``kebab mcp`` with the programs that host language models.

``hosts`` knows their files, ``jsonc`` and ``toml_table`` put an entry into a file that
people keep by hand, ``plan`` says what would change. Only ``plan.write`` touches a disk.

**Invariant:** whatever a file held before, it holds afterwards, comments included; what
cannot be read for sure is not written.
"""
