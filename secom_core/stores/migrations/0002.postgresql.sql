-- Learned state, events with links, summaries.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE learned (
    scope_id BIGINT NOT NULL,
    part TEXT NOT NULL,
    turns BIGINT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (scope_id, part),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE
);

CREATE TABLE reflections (
    session_id BIGINT NOT NULL,
    layer TEXT NOT NULL,
    messages BIGINT NOT NULL,
    PRIMARY KEY (session_id, layer),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE TABLE events (
    id BIGSERIAL NOT NULL,
    scope_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (session_id, position),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX events_of_scope ON events (scope_id);

CREATE TABLE event_turns (
    event_id BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    PRIMARY KEY (event_id, turn),
    FOREIGN KEY(event_id) REFERENCES events (id) ON DELETE CASCADE
);

CREATE TABLE links (
    earlier BIGINT NOT NULL,
    later BIGINT NOT NULL,
    relation TEXT NOT NULL,
    PRIMARY KEY (earlier, later),
    FOREIGN KEY(earlier) REFERENCES events (id) ON DELETE CASCADE,
    FOREIGN KEY(later) REFERENCES events (id) ON DELETE CASCADE
);

CREATE INDEX links_by_later ON links (later);

CREATE TABLE summaries (
    id BIGSERIAL NOT NULL,
    scope_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    previous BIGINT,
    text TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
    FOREIGN KEY(previous) REFERENCES summaries (id) ON DELETE CASCADE
);

CREATE INDEX summaries_by_previous ON summaries (previous);

CREATE INDEX summaries_of_scope ON summaries (scope_id);

CREATE INDEX summaries_of_session ON summaries (session_id);
