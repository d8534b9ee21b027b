-- What was corrected, retracted and pinned by hand; when turns, sessions and scopes end, and how much a scope may hold.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE turn_marks (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    kind TEXT NOT NULL,
    newer TEXT,
    at TEXT NOT NULL,
    UNIQUE (session_id, turn, kind),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX turn_marks_of_scope ON turn_marks (scope_id);

CREATE TABLE lifetimes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    session_id INTEGER,
    turn BIGINT,
    at_us BIGINT NOT NULL,
    UNIQUE (session_id, turn),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX lifetimes_of_scope ON lifetimes (scope_id, at_us);

CREATE INDEX lifetimes_by_end ON lifetimes (at_us);

CREATE TABLE scope_caps (
    scope_id INTEGER NOT NULL,
    turns BIGINT,
    bytes BIGINT,
    age_us BIGINT,
    checked BIGINT NOT NULL,
    next_us BIGINT,
    PRIMARY KEY (scope_id),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE
);

CREATE INDEX scope_caps_by_end ON scope_caps (next_us);
