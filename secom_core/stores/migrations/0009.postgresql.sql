-- Vectors go by the space that they are compared in: the embedder's name, and how many numbers each has.
-- Frozen: whoever changes the tables appends a step.

ALTER TABLE vectors RENAME COLUMN model TO space;

UPDATE vectors SET space = space || ' [' || (length(data) / 4) || ']';

DELETE FROM index_blocks WHERE space <> '';
