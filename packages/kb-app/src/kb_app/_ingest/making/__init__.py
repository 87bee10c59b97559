"""From bytes to a record: parsers, chunkers, and what they need."""
