-- Which turns state something of what, and which statement took the place of which.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE statement_heads (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    head BIGINT NOT NULL,
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX statement_heads_by_head ON statement_heads (scope_id, head, id);

CREATE INDEX statement_heads_of_session ON statement_heads (session_id, turn);

CREATE TABLE changes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    place INTEGER NOT NULL,
    start BIGINT NOT NULL,
    stop BIGINT NOT NULL,
    older_session_id INTEGER NOT NULL,
    older_turn BIGINT NOT NULL,
    older_place INTEGER NOT NULL,
    older_start BIGINT NOT NULL,
    older_stop BIGINT NOT NULL,
    kind TEXT NOT NULL,
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
    FOREIGN KEY(older_session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX changes_of_session ON changes (session_id, turn);

CREATE INDEX changes_of_older ON changes (older_session_id, older_turn);

CREATE INDEX changes_of_scope ON changes (scope_id);
