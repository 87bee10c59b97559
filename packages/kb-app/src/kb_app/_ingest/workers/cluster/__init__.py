"""Tasks done by actors of a Ray cluster: one of this run's own, or one that is named."""
