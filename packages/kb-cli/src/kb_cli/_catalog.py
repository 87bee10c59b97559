"""The commands: their names, their modules, and the line that ``kebab --help`` shows.

The lines stand here so that help loads no command; a test holds them and the commands'
own help together.
"""

from __future__ import annotations

__all__ = ["COMMANDS", "EXTRAS"]

COMMANDS = {
    "init": ("init", "Write a configuration with every key explained."),
    "add": ("add", "Add a folder to what is indexed."),
    "remove": ("remove", "Take a source out of the configuration."),
    "ingest": ("ingest", "Index everything that is new or changed."),
    "ingest-file": ("ingest_file", "Add one file, wherever it is."),
    "ingest-stdin": ("ingest_stdin", "Add the text on standard input as a document."),
    "embed": ("embed", "Compute the embeddings that are missing."),
    "status": ("status", "Show what became of every file, and why."),
    "search": ("search", "Find the passages that match a question best."),
    "codebase-search": ("codebase_search", "Search code for a language model, in one call."),
    "similar": ("similar", "Find passages of other documents that are like one."),
    "explain-miss": ("explain_miss", "Say why a document is not among the hits of a query."),
    "fetch": ("fetch", "Print text exactly as it stands in a source."),
    "cite": ("cite", "Print what a citation points at, or verify that it still says the same."),
    "list": ("list", "List what is indexed."),
    "inspect": ("inspect", "Show all that is known of one thing."),
    "schema": ("schema", "Show what this installation speaks, can do and holds."),
    "doctor": ("doctor", "Check that everything is well, and say what to do."),
    "stats": ("stats", "Show counts and sizes."),
    "models": ("models", "List embedding models: present, selectable, active."),
    "reset": ("reset", "Delete what kebab keeps, or a part of it."),
    "config": ("config", "Show or complete the configuration."),
    "integrate": ("integrate", "Register the server for language models with a host."),
    "completion": ("completion", "Print the completion script for a shell."),
}
"""Name → module in ``kb_cli.commands``, help line; in the order of the help."""

EXTRAS = {"mcp": "kb-mcp", "tui": "kb-tui"}
"""Interfaces of ours that come with another distribution."""
