-- The sum of each document, over its text and its chunks; without a value, nobody has made it yet.

ALTER TABLE documents ADD COLUMN sum VARCHAR;
