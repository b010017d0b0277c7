-- The contents of the files that users send: each user's pieces by the SHA-256 of what
-- they contain, compressed. A piece is kept while a context of its user refers to it.

-- +goose Up
CREATE TABLE blobs (
	owner BIGINT NOT NULL,
	hash  BYTEA  NOT NULL,
	data  BYTEA  NOT NULL,
	PRIMARY KEY (owner, hash)
);

CREATE TABLE blob_refs (
	owner   BIGINT NOT NULL,
	context BYTEA  NOT NULL,
	hash    BYTEA  NOT NULL,
	PRIMARY KEY (owner, context, hash)
);
CREATE INDEX blob_refs_hash ON blob_refs (owner, hash, context);
