"""One file a tool, named as the model calls it. Tools do not know each other."""
