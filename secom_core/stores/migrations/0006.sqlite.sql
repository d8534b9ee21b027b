-- A scope's search index, kept in blocks.
-- Frozen: whoever changes the tables appends a step.

CREATE TABLE index_blocks (
	scope_id INTEGER NOT NULL,
	space TEXT NOT NULL,
	block BIGINT NOT NULL,
	part TEXT NOT NULL,
	piece INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (scope_id, space, block, part, piece),
	FOREIGN KEY(scope_id) REFERENCES scopes (id) ON DELETE CASCADE
);
