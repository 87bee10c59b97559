"""Rooms of commands by subject; ``kb_cli._catalog`` says which command is where.

No room knows another. A room imports click and ``kb_cli`` only; the application, the wire
and what else has weight load inside a command.
"""
