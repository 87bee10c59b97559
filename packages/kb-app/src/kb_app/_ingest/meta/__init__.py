"""What a document says of itself: front matter, title, language, dates, links."""
