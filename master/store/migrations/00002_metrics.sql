-- A report of a trial's program is one row: its key is what makes it stored once.
-- The row whose group is empty says from which step a run continued.

-- +goose Up
CREATE TABLE metrics (
	trial BIGINT NOT NULL,
	grp   TEXT   NOT NULL,
	steps BIGINT NOT NULL,
	run   BIGINT NOT NULL,
	at    BIGINT NOT NULL,
	doc   BYTEA  NOT NULL,
	PRIMARY KEY (trial, grp, steps, run)
);

-- The documents of a parent are read a page at a time, in the order of their ids.
DROP INDEX IF EXISTS documents_parent;
CREATE INDEX documents_parent ON documents (kind, parent, id);
