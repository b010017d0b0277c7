-- What lists of tasks are filtered and sorted by. Texts are bytes, because databases
-- order texts by their own locales. Each index has all that a page needs: its rows are
-- not read.
--
-- The tasks of one user in one workspace are a group, which is counted.

-- +goose Up
CREATE TABLE task_groups (
	id        BIGINT NOT NULL PRIMARY KEY,
	user_id   BIGINT NOT NULL,
	workspace BIGINT NOT NULL,
	username  BYTEA  NOT NULL,
	tasks     BIGINT NOT NULL
);
CREATE UNIQUE INDEX task_groups_key ON task_groups (user_id, workspace, username);

CREATE TABLE task_rows (
	id        BYTEA  NOT NULL PRIMARY KEY,
	grp       BIGINT NOT NULL,
	name      BYTEA  NOT NULL,
	pool      BYTEA  NOT NULL,
	submitted BIGINT NOT NULL,
	ended     BIGINT NOT NULL
);
CREATE INDEX task_rows_submitted ON task_rows (submitted, id, grp);
CREATE INDEX task_rows_group ON task_rows (grp, submitted, id);
CREATE INDEX task_rows_name ON task_rows (name, submitted, id, grp);
CREATE INDEX task_rows_pool ON task_rows (pool, submitted, id, grp);
CREATE INDEX task_rows_ended ON task_rows (ended, id) WHERE ended > 0;
