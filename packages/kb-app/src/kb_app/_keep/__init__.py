"""Keeping a knowledge base: archives of it, and what is saved of one that is damaged."""
