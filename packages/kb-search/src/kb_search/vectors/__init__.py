"""Vectors: append-only files, memory-mapped, scanned whole or gathered by row.

Importing this package costs nothing; its modules import numpy.
"""
