-- Tasks of each kind are listed and counted apart. The kind of commands is empty: all tasks of
-- earlier versions are commands.

-- +goose Up
ALTER TABLE task_groups ADD COLUMN kind TEXT NOT NULL DEFAULT '';
DROP INDEX task_groups_key;
CREATE UNIQUE INDEX task_groups_key ON task_groups (user_id, workspace, username, kind);
