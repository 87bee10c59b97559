-- The truth in its first released shape. Never edited: a change is a new file.
--
-- No table has a primary key or a unique index. Every key is looked up by scans that
-- are pruned by zone maps, rows are replaced by delete and insert inside one
-- transaction, and an index would have to be loaded, checked and written with every
-- checkpoint. Uniqueness is kept by the one writer and verified by the deep check.

CREATE TABLE meta (
    store_id         VARCHAR     NOT NULL,
    created_at       TIMESTAMPTZ NOT NULL,
    sequence         BIGINT      NOT NULL,
    corpus_revision  BIGINT      NOT NULL,
    vector_revision  BIGINT      NOT NULL,
    pruned_sequence  BIGINT      NOT NULL,
    next_doc_key     BIGINT      NOT NULL,
    next_chunk_key   BIGINT      NOT NULL
);

CREATE TABLE sources (
    source_id   VARCHAR NOT NULL,
    description JSON    NOT NULL
);

CREATE TABLE files (
    source_id    VARCHAR NOT NULL,
    path         VARCHAR NOT NULL,
    raw_path     VARCHAR,
    state        VARCHAR NOT NULL,
    reason       VARCHAR,
    detail       VARCHAR,
    media        VARCHAR,
    size         BIGINT  NOT NULL,
    mtime_ns     BIGINT  NOT NULL,
    bytes_hash   VARCHAR,
    fingerprint  VARCHAR,
    doc_id       VARCHAR,
    error_code   VARCHAR,
    processed_at TIMESTAMPTZ,
    changed_at   TIMESTAMPTZ
);

CREATE TABLE documents (
    doc_key         BIGINT      NOT NULL,
    doc_id          VARCHAR     NOT NULL,
    source_id       VARCHAR     NOT NULL,
    path            VARCHAR     NOT NULL,
    title           VARCHAR     NOT NULL,
    media           VARCHAR     NOT NULL,
    lang            VARCHAR,
    code_lang       VARCHAR,
    repo            VARCHAR,
    repo_branch     VARCHAR,
    repo_commit     VARCHAR,
    tags            VARCHAR[]   NOT NULL,
    aliases         VARCHAR[]   NOT NULL,
    source_type     VARCHAR     NOT NULL,
    trust_level     VARCHAR     NOT NULL,
    doc_date        TIMESTAMPTZ,
    created_at      TIMESTAMPTZ,
    updated_at      TIMESTAMPTZ,
    indexed_at      TIMESTAMPTZ NOT NULL,
    byte_len        BIGINT      NOT NULL,
    size            BIGINT      NOT NULL,
    mtime_ns        BIGINT      NOT NULL,
    bytes_hash      VARCHAR     NOT NULL,
    fingerprint     VARCHAR     NOT NULL,
    parser_version  VARCHAR     NOT NULL,
    chunker_version VARCHAR     NOT NULL,
    metadata        JSON        NOT NULL USING COMPRESSION zstd,
    blocks          JSON        NOT NULL USING COMPRESSION zstd,
    links           JSON        NOT NULL USING COMPRESSION zstd,
    warnings        VARCHAR[]   NOT NULL,
    asset           VARCHAR,
    chunk_count     BIGINT      NOT NULL,
    token_count     BIGINT      NOT NULL,
    text_chars      BIGINT      NOT NULL
);

-- A document's text, cut into pieces: DuckDB holds and reads strings of many megabytes
-- as a whole, and its neighbours with it. The compression is named because trying out
-- the others on long strings makes a checkpoint ten times slower.
CREATE TABLE texts (
    doc_key BIGINT  NOT NULL,
    piece   INTEGER NOT NULL,
    text    VARCHAR NOT NULL USING COMPRESSION zstd
);

CREATE VIEW document_texts AS
SELECT doc_key, any_value(doc_id) AS doc_id, string_agg(text, '' ORDER BY piece) AS text
FROM documents JOIN texts USING (doc_key) GROUP BY doc_key;

-- A chunk is a range of its document's text, in code points; the text is kept once.
CREATE TABLE chunks (
    chunk_key    BIGINT    NOT NULL,
    doc_key      BIGINT    NOT NULL,
    chunk_id     VARCHAR   NOT NULL,
    ordinal      INTEGER   NOT NULL,
    start_char   BIGINT    NOT NULL,
    end_char     BIGINT    NOT NULL,
    line_start   BIGINT    NOT NULL,
    line_end     BIGINT    NOT NULL,
    token_count  BIGINT    NOT NULL,
    heading_path VARCHAR[] NOT NULL,
    symbol       VARCHAR,
    part         INTEGER,
    span         JSON,
    context      VARCHAR   NOT NULL,
    passage_hash VARCHAR   NOT NULL,
    text_hash    VARCHAR   NOT NULL,
    flags        VARCHAR[] NOT NULL
);

-- Views, so that a tag or a link cannot outlive its document.
CREATE VIEW tags AS
SELECT doc_key, doc_id, unnest(tags) AS tag FROM documents;

CREATE VIEW links AS
SELECT doc_key, doc_id, link ->> 'kind' AS kind, link ->> 'target' AS target, link
FROM (SELECT doc_key, doc_id, unnest(from_json(links, '["JSON"]')) AS link FROM documents);

CREATE TABLE models (
    model_key   VARCHAR NOT NULL,
    description JSON    NOT NULL,
    chunk_count BIGINT  NOT NULL
);

CREATE TABLE embeddings (
    passage_hash VARCHAR NOT NULL,
    model_key    VARCHAR NOT NULL,
    vector       BLOB    NOT NULL
);

CREATE TABLE derivations (
    kind          VARCHAR     NOT NULL,
    content_hash  VARCHAR     NOT NULL,
    settings_hash VARCHAR     NOT NULL,
    value         BLOB        NOT NULL,
    made_at       TIMESTAMPTZ NOT NULL
);

CREATE TABLE aliases (
    old_doc_id VARCHAR     NOT NULL,
    new_doc_id VARCHAR     NOT NULL,
    moved_at   TIMESTAMPTZ NOT NULL
);

CREATE TABLE runs (
    run_id      VARCHAR     NOT NULL,
    kind        VARCHAR     NOT NULL,
    scope       JSON        NOT NULL,
    state       VARCHAR     NOT NULL,
    started_at  TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    report      JSON
);

-- What a publication must carry: names of what was touched, never a copy of it.
CREATE TABLE outbox (
    sequence BIGINT  NOT NULL,
    kind     VARCHAR NOT NULL,
    key      BIGINT,
    name     VARCHAR,
    value    VARCHAR
);

CREATE TABLE settings (
    name  VARCHAR NOT NULL,
    value JSON    NOT NULL
);
