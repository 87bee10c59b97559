"""Seeing: files as they lie, unopened: the walk, the rules that ignore, repositories."""
