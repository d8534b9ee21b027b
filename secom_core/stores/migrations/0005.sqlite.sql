-- Names that say what the tables hold.
-- Frozen: whoever changes the tables appends a step.

ALTER TABLE reflections RENAME TO layer_progress;

ALTER TABLE learned RENAME TO part_states;

ALTER TABLE part_states RENAME COLUMN turns TO version;

UPDATE layer_progress SET layer = 'timelines' WHERE layer = 'events';

UPDATE layer_progress SET layer = 'summaries' WHERE layer = 'summary';

UPDATE part_states SET part = 'setting:frozen' WHERE part = 'frozen';
