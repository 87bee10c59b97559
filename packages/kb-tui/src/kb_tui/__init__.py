"""Search the knowledge base in the terminal.

``kb_tui.app.run`` is the door. Importing this package does not import textual, so that
a program may look at what is installed without paying for it.

**Invariant:** no key press waits for the store or a model. The facade is called on
worker threads, which touch no widget; they post messages, and handlers draw.
"""
