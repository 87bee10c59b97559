"""Files as they lie: which there are, what they are called, how they are opened."""
