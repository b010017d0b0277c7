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
