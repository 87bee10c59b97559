"""The commands: their names, where they are, and the line that ``kebab --help`` shows.

The lines stand here so that help loads no command; a test holds them and the commands'
own help together.
"""

from __future__ import annotations

__all__ = ["COMMANDS", "COMPLETE_VAR", "EXTRAS"]

COMMANDS = {
    "init": ("settings:init", "Write a configuration with every key explained."),
    "add": ("sources:add", "Add a folder to what is indexed."),
    "about": ("sources:about", "Say what a source is about, or a folder or file in one."),
    "remove": ("sources:remove", "Take a source out of the configuration."),
    "ingest": ("ingesting:ingest", "Index everything that is new or changed."),
    "ingest-file": ("ingesting:ingest_file", "Add one file, wherever it is."),
    "ingest-stdin": ("ingesting:ingest_stdin", "Add the text on standard input as a document."),
    "watch": ("ingesting:watch", "Follow the sources: index what changes, until Ctrl-C."),
    "embed": ("ingesting:embed", "Compute the embeddings that are missing."),
    "status": ("listing:status", "Show what became of every file, and why."),
    "search": ("searching:search", "Find the passages that match a question best."),
    "ask": (
        "asking:ask",
        "Answer a question, with places that can be opened, or say that nothing answers it.",
    ),
    "session": ("asking:session", "Show, export or delete conversations."),
    "grep": ("grepping:grep", "Find the lines that hold exact text."),
    "codebase-search": (
        "searching:codebase_search",
        "Search code for a language model, in one call.",
    ),
    "feedback": ("judging:feedback", "Say whether a hit of the last search answers it."),
    "similar": ("searching:similar", "Find passages of other documents that are like one."),
    "explain-miss": (
        "searching:explain_miss",
        "Say why a document is not among the hits of a query.",
    ),
    "fetch": ("reading:fetch", "Print text exactly as it stands in a source."),
    "cite": (
        "reading:cite",
        "Print what a citation points at, or verify that it still says the same.",
    ),
    "list": ("listing:list_", "List what is indexed."),
    "inspect": ("listing:inspect", "Show all that is known of one thing."),
    "schema": ("operating:schema", "Show what this installation speaks, can do and holds."),
    "doctor": ("operating:doctor", "Check that everything is well, and say what to do."),
    "stats": ("operating:stats", "Show counts and sizes."),
    "models": ("operating:models", "List embedding models: present, selectable, active."),
    "sql": ("querying:sql", "Ask the store in SQL, for reading alone."),
    "eval": ("evaluating:eval_", "Measure how well this knowledge base answers."),
    "export": ("keeping:export", "Write all that kebab keeps into one file."),
    "import": ("keeping:import_", "Make the knowledge base that an archive holds."),
    "engine": ("keeping:engine", "Move the index to another engine."),
    "forget": (
        "forgetting:forget",
        "Forget documents, sources or queries, so that no file has them.",
    ),
    "reset": ("operating:reset", "Delete what kebab keeps, or a part of it."),
    "config": ("settings:config", "Show or complete the configuration."),
    "integrate": ("integrate:integrate", "Register the server for language models with a host."),
    "completion": ("completion:completion", "Print the completion script for a shell."),
}
"""Name → ``module:command`` in ``kb_cli.commands``, help line; in the order of the help."""

EXTRAS = {"mcp": "kb-mcp", "tui": "kb-tui"}
"""Interfaces of ours that come with another distribution."""

COMPLETE_VAR = "_KEBAB_COMPLETE"
"""The variable by which a shell asks for completion."""
