-- Turns, memories and vectors.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE schema_versions (
    version SERIAL NOT NULL,
    PRIMARY KEY (version)
);

CREATE TABLE scopes (
    id BIGSERIAL NOT NULL,
    key TEXT NOT NULL,
    revision BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (id)
);

ALTER TABLE scopes ADD CONSTRAINT scopes_by_key EXCLUDE USING hash (key WITH =);

CREATE TABLE sessions (
    id BIGSERIAL NOT NULL,
    scope_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    turns BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    derived BIGINT NOT NULL,
    settled BIGINT NOT NULL,
    closed INTEGER NOT NULL,
    version BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX sessions_by_name ON sessions (scope_id, hashtextextended(name, 0), hashtextextended(name, 1));

CREATE INDEX sessions_by_revision ON sessions (scope_id, revision);

CREATE TABLE messages (
    id BIGSERIAL NOT NULL,
    scope_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    speaker TEXT,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    at_us BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (session_id, turn, position),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX messages_by_name ON messages (scope_id, hashtextextended(name, 0), hashtextextended(name, 1));

CREATE TABLE memories (
    session_id BIGINT NOT NULL,
    start BIGINT NOT NULL,
    stop BIGINT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (session_id, start),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE TABLE vectors (
    session_id BIGINT NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (session_id, model, digest),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
