-- The part of a turn that was corrected or retracted by hand, so that a turn may have several.
-- Frozen: whoever changes the tables appends a step.

ALTER TABLE turn_marks DROP CONSTRAINT turn_marks_session_id_turn_kind_key;

ALTER TABLE turn_marks ADD COLUMN place INTEGER;

ALTER TABLE turn_marks ADD COLUMN start BIGINT;

ALTER TABLE turn_marks ADD COLUMN stop BIGINT;

CREATE INDEX turn_marks_of_turn ON turn_marks (session_id, turn);
