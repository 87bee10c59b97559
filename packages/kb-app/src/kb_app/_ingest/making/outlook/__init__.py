"""Messages of Outlook (``.msg``): their properties, their texts, and what is attached."""
