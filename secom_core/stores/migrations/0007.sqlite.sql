-- Sessions end by themselves, and a segmenter may cut them only then.
-- Frozen: whoever changes the tables appends a step.

ALTER TABLE sessions ADD COLUMN ended BIGINT DEFAULT 0 NOT NULL;

ALTER TABLE sessions ADD COLUMN cut BIGINT DEFAULT 0 NOT NULL;

ALTER TABLE sessions ADD COLUMN cut_by TEXT;

UPDATE sessions SET cut_by = '';

UPDATE sessions SET ended = messages, cut = messages WHERE closed = 1;

CREATE INDEX sessions_open ON sessions (scope_id) WHERE closed = 0;
