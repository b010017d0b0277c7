package archive

import "strings"

// ColumnType is what a column holds.
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
	// Since is the version of the schema that made the table.
	Since   int64
	Columns []Column
}

// Tables is what a backup holds. The position of a table is its number in the file,
// so a new one goes to the end. The lease is not state but who may change it.
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
	}
}

// Field is one value of a row; its column says which of the two is meant.
type Field struct {
	Number int64
	Bytes  []byte
}

// ColumnNames lists the columns as SQL does.
func (t Table) ColumnNames() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// Values are the fields of a row as a database takes them.
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
