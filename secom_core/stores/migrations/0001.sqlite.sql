-- Turns, memories and vectors.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE schema_versions (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
);

CREATE TABLE scopes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "key" TEXT NOT NULL,
    revision BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    UNIQUE ("key")
);

CREATE TABLE sessions (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    turns BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    derived BIGINT NOT NULL,
    settled BIGINT NOT NULL,
    closed INTEGER NOT NULL,
    version BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    UNIQUE (scope_id, name),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE
);

CREATE INDEX sessions_by_revision ON sessions (scope_id, revision);

CREATE TABLE messages (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    speaker TEXT,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    at_us BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (scope_id, name),
    UNIQUE (session_id, turn, position),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE TABLE memories (
    session_id INTEGER NOT NULL,
    start BIGINT NOT NULL,
    stop BIGINT NOT NULL,
    "key" TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (session_id, start),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE TABLE vectors (
    session_id INTEGER NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (session_id, model, digest),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
