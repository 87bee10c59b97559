"""What a citation points at, and whether it still says the same."""
