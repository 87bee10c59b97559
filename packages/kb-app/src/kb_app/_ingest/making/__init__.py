"""Making: from the content of a file to a document and its chunks. Pure: nothing is opened."""
