-- One text for both databases: BIGINT and BYTEA are PostgreSQL's names, to SQLite
-- they are an integer and a type that keeps a blob as it is.
--
-- The table lease may never change: a newer program must be able to fence an older
-- one before it migrates anything.

-- +goose Up
CREATE TABLE meta (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

CREATE TABLE lease (
	id      BIGINT NOT NULL PRIMARY KEY,
	owner   TEXT   NOT NULL,
	host    TEXT   NOT NULL,
	epoch   BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	seq     BIGINT NOT NULL
);
INSERT INTO lease (id, owner, host, epoch, expires, seq) VALUES (1, '', '', 0, 0, 0);

CREATE TABLE documents (
	kind   TEXT   NOT NULL,
	id     TEXT   NOT NULL,
	parent TEXT   NOT NULL,
	at     BIGINT NOT NULL,
	doc    BYTEA  NOT NULL,
	PRIMARY KEY (kind, id)
);
CREATE INDEX documents_parent ON documents (kind, parent);
CREATE INDEX documents_at ON documents (kind, at);

CREATE TABLE log_chunks (
	task       TEXT   NOT NULL,
	pos        BIGINT NOT NULL,
	allocation TEXT   NOT NULL,
	container  TEXT   NOT NULL,
	first_seq  BIGINT NOT NULL,
	last_seq   BIGINT NOT NULL,
	from_at    BIGINT NOT NULL,
	to_at      BIGINT NOT NULL,
	lines      BIGINT NOT NULL,
	data       BYTEA  NOT NULL,
	PRIMARY KEY (task, pos)
);

CREATE TABLE log_marks (
	task      TEXT   NOT NULL,
	container TEXT   NOT NULL,
	next_seq  BIGINT NOT NULL,
	PRIMARY KEY (task, container)
);
