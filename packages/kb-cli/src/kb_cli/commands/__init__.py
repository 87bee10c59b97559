"""One module a command; each has ``command``, and none knows another.

A module imports click and ``kb_cli`` only; the application, the wire and what else has
weight load inside the command.
"""
