"""One file a screen, each with its style sheet. Screens do not know each other."""
