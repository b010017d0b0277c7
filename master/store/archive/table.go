package archive

import (
	"slices"
	"strings"
)

// ColumnType is the type of a column.
type ColumnType string

// The types of columns.
const (
	Text  ColumnType = "text"
	Int   ColumnType = "int"
	Bytes ColumnType = "bytes"
)

// Column is one column of a table.
type Column struct {
	Name string
	Type ColumnType
	// Since is the schema version that added the column; 0 if the table had it from the beginning.
	Since int64
}

// Table is one table of a store.
type Table struct {
	Name string
	// Since is the schema version that created the table.
	Since   int64
	Columns []Column
}

// Tables returns the tables of a schema version, with its columns. The lease is not part of a backup.
func Tables(schema int64) []Table {
	tables := slices.DeleteFunc(allTables(), func(t Table) bool { return t.Since > schema })
	for i := range tables {
		tables[i].Columns = slices.DeleteFunc(tables[i].Columns, func(c Column) bool { return c.Since > schema })
	}
	return tables
}

// allTables returns the tables of the newest schema version. A table's position is its number in a backup,
// so that new tables must be appended.
func allTables() []Table {
	return []Table{
		{"documents", 1, []Column{
			{"kind", Text, 0}, {"id", Text, 0}, {"parent", Text, 0}, {"at", Int, 0}, {"doc", Bytes, 0},
		}},
		{"log_chunks", 1, []Column{
			{"task", Text, 0},
			{"pos", Int, 0},
			{"allocation", Text, 0},
			{"container", Text, 0},
			{"first_seq", Int, 0},
			{"last_seq", Int, 0},
			{"from_at", Int, 0},
			{"to_at", Int, 0},
			{"lines", Int, 0},
			{"data", Bytes, 0},
		}},
		{"log_marks", 1, []Column{{"task", Text, 0}, {"container", Text, 0}, {"next_seq", Int, 0}}},
		{"metrics", 2, []Column{
			{"trial", Int, 0}, {"grp", Text, 0}, {"steps", Int, 0}, {"run", Int, 0}, {"at", Int, 0}, {"doc", Bytes, 0},
		}},
		{"task_groups", 3, []Column{
			{"id", Int, 0}, {"user_id", Int, 0}, {"workspace", Int, 0}, {"username", Bytes, 0}, {"tasks", Int, 0}, {"kind", Text, 7},
		}},
		{"task_rows", 3, []Column{
			{"id", Bytes, 0}, {"grp", Int, 0}, {"name", Bytes, 0}, {"pool", Bytes, 0}, {"submitted", Int, 0}, {"ended", Int, 0},
		}},
		{"user_bytes", 4, []Column{{"user_id", Int, 0}, {"kind", Text, 0}, {"bytes", Int, 0}}},
		{"blobs", 5, []Column{{"owner", Int, 0}, {"hash", Bytes, 0}, {"data", Bytes, 0}}},
		{"blob_refs", 5, []Column{{"owner", Int, 0}, {"context", Bytes, 0}, {"hash", Bytes, 0}}},
		{"task_ends", 6, []Column{{"id", Bytes, 0}, {"ended", Int, 0}, {"user_id", Int, 0}, {"pool", Bytes, 0}, {"state", Text, 0}}},
		{"task_labels", 6, []Column{{"label", Bytes, 0}, {"ended", Int, 0}, {"id", Bytes, 0}}},
	}
}

// Field is one value of a row. The type of its column determines which field is set.
type Field struct {
	Number int64
	Bytes  []byte
}

// ColumnNames returns a comma-separated list of the columns for SQL.
func (t Table) ColumnNames() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// Values returns the fields of a row as arguments of a database statement.
func (t Table) Values(fields []Field) []any {
	values := make([]any, len(fields))
	for i, c := range t.Columns {
		switch c.Type {
		case Int:
			values[i] = fields[i].Number
		case Text:
			values[i] = string(fields[i].Bytes)
		default:
			if fields[i].Bytes == nil {
				fields[i].Bytes = []byte{} // empty, not NULL
			}
			values[i] = fields[i].Bytes
		}
	}
	return values
}
