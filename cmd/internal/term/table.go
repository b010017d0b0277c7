package term

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/internal/document"
)

// columnGap is the space between two columns of a table.
const columnGap = "  "

// Table is rows of text under headings. Columns are as wide as their widest
// cell, so that cut, awk and people can read them; long cells are never cut.
type Table struct {
	heads []string
	rows  [][]string
	right map[int]bool
}

// NewTable returns an empty table with the headings given. A heading that
// begins with ">" has its column aligned to the right, for numbers.
func NewTable(heads ...string) *Table {
	t := &Table{right: map[int]bool{}}
	for i, h := range heads {
		if rest, ok := strings.CutPrefix(h, ">"); ok {
			t.right[i] = true
			h = rest
		}
		t.heads = append(t.heads, h)
	}
	return t
}

// Row adds a row. An empty cell is printed as "-", so that columns can be
// counted.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(t.heads))
	for i := range row {
		if i < len(cells) {
			row[i] = oneLine(fmt.Sprint(cells[i]))
		}
		if row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Lines are the headings and the rows as they are printed, without colours.
func (t *Table) Lines() (head string, rows []string) {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range t.rows {
		rows = append(rows, t.formatLine(row, widths))
	}
	return t.formatLine(t.heads, widths), rows
}

// PrintTable writes t as the answer.
func (s *Streams) PrintTable(t *Table) error {
	head, rows := t.Lines()
	if s.colourOut() {
		head = Bold.Paint(head)
	}
	text := strings.Join(append([]string{head}, rows...), "\n") + "\n"
	if _, err := io.WriteString(s.Out, text); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}

func (t *Table) formatLine(cells []string, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString(columnGap)
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if t.right[i] {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// oneLine keeps what a user or a task named from breaking the table, or the
// terminal: control characters become spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if isObeyed(r) {
			return ' '
		}
		return r
	}, s)
}

// PrintPairs writes lines of "name: value" with the values under each other.
// Pairs with an empty value are left out.
func (s *Streams) PrintPairs(pairs ...[2]string) error {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, utf8.RuneCountInString(p[0]))
		}
	}
	var b strings.Builder
	for _, p := range pairs {
		if p[1] != "" {
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(p[0]))
			b.WriteString(p[0] + ":" + pad + " " + oneLine(p[1]) + "\n")
		}
	}
	if _, err := io.WriteString(s.Out, b.String()); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

// PrintSettings prints every setting of a document with where it came from.
func (s *Streams) PrintSettings(settings []document.Setting) error {
	table := NewTable("setting", "value", "from")
	for _, set := range settings {
		table.Row(set.Path, set.Value, set.Source)
	}
	return s.PrintTable(table)
}
