package term

import "github.com/det-deploy/det-deploy/document"

// PrintSettings prints every setting of a document with where it came from.
func (s *Streams) PrintSettings(settings []document.Setting) error {
	table := NewTable("setting", "value", "from")
	for _, set := range settings {
		table.Row(set.Path, set.Value, set.Source)
	}
	return s.PrintTable(table)
}
