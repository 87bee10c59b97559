"""Files of office programs: texts, slides and sheets, of today's programs and of older ones."""
