"""Which process makes a document: this one, or others that may crash, hang or run out of memory."""
