package archive

import "strings"

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
}

// Table is one table of a store.
type Table struct {
	Name string
	// Since is the schema version that created the table.
	Since   int64
	Columns []Column
}

// Tables returns the tables in a backup. A table's position is its number in the file, so that new
// tables must be appended. The lease is not part of a backup.
func Tables() []Table {
	return []Table{
		{"documents", 1, []Column{
			{"kind", Text}, {"id", Text}, {"parent", Text}, {"at", Int}, {"doc", Bytes},
		}},
		{"log_chunks", 1, []Column{
			{"task", Text},
			{"pos", Int},
			{"allocation", Text},
			{"container", Text},
			{"first_seq", Int},
			{"last_seq", Int},
			{"from_at", Int},
			{"to_at", Int},
			{"lines", Int},
			{"data", Bytes},
		}},
		{"log_marks", 1, []Column{{"task", Text}, {"container", Text}, {"next_seq", Int}}},
		{"metrics", 2, []Column{
			{"trial", Int}, {"grp", Text}, {"steps", Int}, {"run", Int}, {"at", Int}, {"doc", Bytes},
		}},
		{"task_groups", 3, []Column{
			{"id", Int}, {"user_id", Int}, {"workspace", Int}, {"username", Bytes}, {"tasks", Int},
		}},
		{"task_rows", 3, []Column{
			{"id", Bytes}, {"grp", Int}, {"name", Bytes}, {"pool", Bytes}, {"submitted", Int}, {"ended", Int},
		}},
		{"user_bytes", 4, []Column{{"user_id", Int}, {"kind", Text}, {"bytes", Int}}},
		{"blobs", 5, []Column{{"owner", Int}, {"hash", Bytes}, {"data", Bytes}}},
		{"blob_refs", 5, []Column{{"owner", Int}, {"context", Bytes}, {"hash", Bytes}}},
		{"task_ends", 6, []Column{{"id", Bytes}, {"ended", Int}, {"user_id", Int}, {"pool", Bytes}, {"state", Text}}},
		{"task_labels", 6, []Column{{"label", Bytes}, {"ended", Int}, {"id", Bytes}}},
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
