-- What a language model says of statements that changed, corrected, ended or confirmed earlier ones.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE change_records (
    id BIGSERIAL NOT NULL,
    scope_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    place INTEGER NOT NULL,
    start BIGINT NOT NULL,
    stop BIGINT NOT NULL,
    older_session_id BIGINT NOT NULL,
    older_turn BIGINT NOT NULL,
    older_place INTEGER NOT NULL,
    older_start BIGINT NOT NULL,
    older_stop BIGINT NOT NULL,
    kind TEXT NOT NULL,
    attribute TEXT NOT NULL,
    old_value TEXT NOT NULL,
    new_value TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_until TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
    FOREIGN KEY(older_session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX change_records_of_session ON change_records (session_id, turn);

CREATE INDEX change_records_of_older ON change_records (older_session_id, older_turn);

CREATE INDEX change_records_of_scope ON change_records (scope_id);
