"""Answers: the sentences of the evidence that answer, or what a language model makes of it."""
