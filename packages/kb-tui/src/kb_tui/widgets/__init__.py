"""What screens are made of. A widget draws what it is given and never asks the facade."""
