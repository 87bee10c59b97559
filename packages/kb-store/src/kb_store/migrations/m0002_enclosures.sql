-- Documents within a file, such as the attachments of a mail, and documents whose lines are
-- no way to address them, whatever their medium. All that is stored so far is a file of its
-- own, cited by its lines.

ALTER TABLE documents ADD COLUMN container VARCHAR;
ALTER TABLE documents ADD COLUMN has_lines BOOLEAN DEFAULT true;
