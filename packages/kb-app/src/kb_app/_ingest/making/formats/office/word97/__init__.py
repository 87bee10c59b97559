"""Texts of Word 97 to 2003 (``.doc``, [MS-DOC]): the bytes, formats, styles, and what is read."""
