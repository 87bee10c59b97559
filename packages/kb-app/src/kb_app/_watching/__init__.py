"""Following the sources: looking whenever something may have changed in them."""
