-- Documents within a file, such as the attachments of a mail, and documents that say for
-- themselves whether lines are how they are addressed. Without a value: a file of its own,
-- addressed as its medium is.

ALTER TABLE documents ADD COLUMN container VARCHAR;
ALTER TABLE documents ADD COLUMN has_lines BOOLEAN;
