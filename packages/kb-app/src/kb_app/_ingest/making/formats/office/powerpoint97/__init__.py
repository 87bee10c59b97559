"""Slides of PowerPoint 97 to 2003 (``.ppt``, [MS-PPT]): records, and what is read of them."""
