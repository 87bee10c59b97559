-- What people ask in SQL: stable names over tables that may change. Within a version of the wire
-- objects columns are only added. Sizes are in bytes, lengths in code points, times in UTC.

CREATE SCHEMA kebab;

CREATE VIEW kebab.documents AS
SELECT doc_id, source_id AS source, path, title, media, lang, code_lang, repo, repo_branch,
       repo_commit, tags, aliases, source_type, trust_level, doc_date, created_at, updated_at,
       indexed_at, byte_len, text_chars, token_count, chunk_count, container, bytes_hash,
       parser_version, chunker_version, metadata, warnings
FROM store.main.documents;

CREATE VIEW kebab.texts AS
SELECT doc_id, source_id AS source, path, coalesce(whole, '') AS text
FROM store.main.documents
LEFT JOIN (
    SELECT doc_key, string_agg(text, '' ORDER BY piece) AS whole
    FROM store.main.texts GROUP BY doc_key
) AS pieces USING (doc_key);

CREATE VIEW kebab.chunks AS
SELECT chunk_id, doc_id, source_id AS source, path, ordinal, line_start, line_end,
       start_char, end_char, chunks.token_count AS token_count, heading_path, symbol, part, span,
       flags
FROM store.main.chunks AS chunks JOIN store.main.documents AS documents USING (doc_key);

CREATE VIEW kebab.passages AS
SELECT chunk_id, chunks.doc_id AS doc_id, chunks.source AS source, chunks.path AS path, ordinal,
       line_start, line_end, substring(text, start_char + 1, end_char - start_char) AS text
FROM kebab.chunks AS chunks JOIN kebab.texts AS texts USING (doc_id);

CREATE VIEW kebab.files AS
SELECT source_id AS source, path, state, reason, detail, media, size, doc_id, error_code,
       make_timestamptz(mtime_ns // 1000) AS modified_at, processed_at, changed_at
FROM store.main.files;

CREATE VIEW kebab.sources AS
SELECT source_id AS source, description ->> 'root' AS root,
       description ->> 'trust_level' AS trust_level,
       description ->> 'source_type' AS source_type
FROM store.main.sources;

CREATE VIEW kebab.tags AS
SELECT doc_id, source_id AS source, path, unnest(tags) AS tag FROM store.main.documents;

CREATE VIEW kebab.links AS
SELECT doc_id, source, path, link ->> 'kind' AS kind, link ->> 'target' AS target
FROM (
    SELECT doc_id, source_id AS source, path, unnest(from_json(links, '["JSON"]')) AS link
    FROM store.main.documents
);

CREATE VIEW kebab.moves AS
SELECT old_doc_id, new_doc_id, moved_at FROM store.main.aliases;

CREATE VIEW kebab.models AS
SELECT model_key AS model, description, chunk_count AS embedded_chunks FROM store.main.models;

CREATE VIEW kebab.runs AS
SELECT run_id, kind, state, started_at, finished_at, report -> 'counts' AS counts
FROM store.main.runs;

USE memory.kebab;
