-- The part of a turn that was corrected or retracted by hand, so that a turn may have several.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE new_turn_marks (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    kind TEXT NOT NULL,
    newer TEXT,
    at TEXT NOT NULL,
    place INTEGER,
    start BIGINT,
    stop BIGINT,
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

INSERT INTO new_turn_marks SELECT id, scope_id, session_id, turn, kind, newer, at, NULL, NULL, NULL FROM turn_marks;

DELETE FROM sqlite_sequence WHERE name = 'new_turn_marks';

UPDATE sqlite_sequence SET name = 'new_turn_marks' WHERE name = 'turn_marks';

DROP TABLE turn_marks;

ALTER TABLE new_turn_marks RENAME TO turn_marks;

CREATE INDEX turn_marks_of_scope ON turn_marks (scope_id);

CREATE INDEX turn_marks_of_turn ON turn_marks (session_id, turn);
