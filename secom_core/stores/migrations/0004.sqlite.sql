-- What a vector store outside holds.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE dense_documents (
    store TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    session_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    start BIGINT NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (store, id)
);

CREATE INDEX dense_documents_of_session ON dense_documents (store, session_id, start);

CREATE TABLE dense_sessions (
    store TEXT NOT NULL,
    session_id INTEGER NOT NULL,
    scope TEXT NOT NULL,
    version BIGINT NOT NULL,
    settled BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (store, session_id)
);

CREATE INDEX dense_sessions_of_scope ON dense_sessions (store, scope);
