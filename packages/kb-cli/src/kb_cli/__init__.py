"""The kebab command."""
