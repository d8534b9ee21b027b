-- Names that say what the tables hold.
-- Frozen: whoever changes the tables appends a step.

ALTER TABLE reflections RENAME TO layer_progress;

ALTER TABLE layer_progress RENAME CONSTRAINT reflections_pkey TO layer_progress_pkey;

ALTER TABLE layer_progress RENAME CONSTRAINT reflections_session_id_fkey TO layer_progress_session_id_fkey;

ALTER TABLE learned RENAME TO part_states;

ALTER TABLE part_states RENAME COLUMN turns TO version;

ALTER TABLE part_states RENAME CONSTRAINT learned_pkey TO part_states_pkey;

ALTER TABLE part_states RENAME CONSTRAINT learned_scope_id_fkey TO part_states_scope_id_fkey;

UPDATE layer_progress SET layer = 'timelines' WHERE layer = 'events';

UPDATE layer_progress SET layer = 'summaries' WHERE layer = 'summary';

UPDATE part_states SET part = 'setting:frozen' WHERE part = 'frozen';
