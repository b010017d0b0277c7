-- How many bytes of each kind a user has stored: a start reads these sums instead of
-- what was stored.

-- +goose Up
CREATE TABLE user_bytes (
	user_id BIGINT NOT NULL,
	kind    TEXT   NOT NULL,
	bytes   BIGINT NOT NULL,
	PRIMARY KEY (user_id, kind)
);
