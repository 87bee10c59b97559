"""Rooms of commands by subject; ``kb_cli._catalog`` says which command is where.

No room knows another. A room imports ``kb_cli`` only, and of that no click; the application,
the wire and what else has weight load inside a command.
"""
