-- Answers and what they cite, topics.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE citations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    decision TEXT NOT NULL,
    "query" TEXT,
    shown TEXT NOT NULL,
    cited TEXT NOT NULL,
    lesson TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (scope_id, decision),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE
);

CREATE TABLE citation_turns (
    citation_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    cited INTEGER NOT NULL,
    PRIMARY KEY (citation_id, session_id, turn),
    FOREIGN KEY(citation_id) REFERENCES citations (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX citations_of_turn ON citation_turns (session_id, turn);

CREATE TABLE topic_notes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX topic_notes_of_session ON topic_notes (session_id);

CREATE TABLE topic_note_turns (
    note_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    PRIMARY KEY (note_id, turn),
    FOREIGN KEY(note_id) REFERENCES topic_notes (id) ON DELETE CASCADE
);

CREATE TABLE topic_versions (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    topic BIGINT NOT NULL,
    note_id INTEGER NOT NULL,
    previous INTEGER,
    text TEXT NOT NULL,
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(note_id) REFERENCES topic_notes (id),
    UNIQUE (previous),
    FOREIGN KEY(previous) REFERENCES topic_versions (id)
);

CREATE INDEX topic_versions_of_note ON topic_versions (note_id);

CREATE INDEX topic_versions_of_scope ON topic_versions (scope_id, id);

CREATE INDEX topic_versions_of_topic ON topic_versions (topic, id);
