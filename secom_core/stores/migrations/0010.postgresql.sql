-- The messages of a session as a framework holds them.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE chat_messages (
    id BIGSERIAL NOT NULL,
    session_id BIGINT NOT NULL,
    place BIGINT NOT NULL,
    turn BIGINT,
    name TEXT,
    body TEXT,
    PRIMARY KEY (id),
    UNIQUE (session_id, place),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
