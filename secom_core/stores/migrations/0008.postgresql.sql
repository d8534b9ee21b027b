-- A citation log without what it taught.
-- Frozen: whoever changes the tables appends a step.

DELETE FROM part_states WHERE part LIKE 'ranking:%' OR part = 'setting:frozen';

ALTER TABLE citations DROP COLUMN lesson;

ALTER TABLE citation_turns DROP COLUMN cited;
