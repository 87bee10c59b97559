-- Vectors of embeddings, float16 until here, are kept as kb_core.quantization has them. SQL has no
-- way to read float16, so the rows are rewritten by a step that comes before this file.

COMMENT ON COLUMN embeddings.vector IS 'a scale, float32, and a signed byte for each dimension';
