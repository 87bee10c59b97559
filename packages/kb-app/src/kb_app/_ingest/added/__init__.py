"""Documents that have no file of their own: what was added, and its bytes."""
