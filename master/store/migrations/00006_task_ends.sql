-- The tasks that have ended, for lists that reach further back than task_rows: a row stays
-- as long as the log of its task. Each index has all that a page needs: rows are not read.

-- +goose Up
CREATE TABLE task_ends (
	id      BYTEA  NOT NULL PRIMARY KEY,
	ended   BIGINT NOT NULL,
	user_id BIGINT NOT NULL,
	pool    BYTEA  NOT NULL,
	state   TEXT   NOT NULL
);
CREATE INDEX task_ends_ended ON task_ends (ended, id, user_id, pool, state);
CREATE INDEX task_ends_state ON task_ends (state, ended, id, user_id, pool);
CREATE INDEX task_ends_user ON task_ends (user_id, ended, id, pool, state);

-- The labels of ended tasks, as key=value.
CREATE TABLE task_labels (
	label BYTEA  NOT NULL,
	ended BIGINT NOT NULL,
	id    BYTEA  NOT NULL,
	PRIMARY KEY (label, ended, id)
);
