package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/pterm/pterm"

	"github.com/det-deploy/det-deploy/internal/document"
)

// columnGap is the space between two columns of a table.
const columnGap = "  "

// Table is a table of text. Columns are as wide as their widest cell, and cells are never truncated, so
// that the output suits both people and tools such as cut and awk.
type Table struct {
	heads []string
	rows  [][]string
	right map[int]bool
}

// NewTable returns an empty table with the given headings. A heading with the prefix ">" right-aligns its
// column, for numbers.
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

// Row adds a row. An empty cell is printed as "-", so that the number of columns is constant.
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

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Lines returns the headings and the rows as they are printed, without colors.
func (t *Table) Lines() (head string, rows []string) {
	cells := make([][]string, 1+len(t.rows))
	for i := range t.heads {
		column := t.column(i)
		if t.right[i] {
			alignRight(column)
		}
		for j, cell := range column {
			cells[j] = append(cells[j], cell)
		}
	}
	lines := layOut(pterm.TablePrinter{Data: cells, Separator: columnGap, LeftAlignment: true})
	return lines[0], lines[1:]
}

func (t *Table) column(i int) []string {
	out := []string{t.heads[i]}
	for _, row := range t.rows {
		out = append(out, row[i])
	}
	return out
}

// alignRight pads cells to the width of the widest, because pterm can align only whole tables.
func alignRight(cells []string) {
	var data [][]string
	for _, c := range cells {
		data = append(data, []string{c})
	}
	copy(cells, layOut(pterm.TablePrinter{Data: data, RightAlignment: true}))
}

// layOut returns the lines of a table. Widths are display widths.
func layOut(t pterm.TablePrinter) []string {
	text, _ := t.Srender() // its error is always nil
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, " \n"))
	}
	return out
}

// PrintTable writes t to Out.
func (s *Streams) PrintTable(t *Table) error {
	head, rows := t.Lines()
	if s.colourOut() {
		head = Bold.Paint(head)
	}
	text := strings.Join(append([]string{head}, rows...), "\n") + "\n"
	if _, err := io.WriteString(s.Out, text); err != nil {
		return fmt.Errorf("cannot print the table: %w", err)
	}
	return nil
}

// oneLine replaces control characters by spaces, so that names given by users or tasks cannot break the
// table or the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if isObeyed(r) {
			return ' '
		}
		return r
	}, s)
}

// PrintPairs writes aligned lines of "name: value". Pairs with an empty value are omitted.
func (s *Streams) PrintPairs(pairs ...[2]string) error {
	var cells [][]string
	for _, p := range pairs {
		if p[1] != "" {
			cells = append(cells, []string{p[0] + ":", oneLine(p[1])})
		}
	}
	var text strings.Builder
	for _, line := range layOut(pterm.TablePrinter{Data: cells, Separator: " ", LeftAlignment: true}) {
		text.WriteString(line + "\n")
	}
	if _, err := io.WriteString(s.Out, text.String()); err != nil {
		return fmt.Errorf("cannot print the output: %w", err)
	}
	return nil
}

// PrintSettings prints the settings of a document with their sources.
func (s *Streams) PrintSettings(settings []document.Setting) error {
	table := NewTable("setting", "value", "from")
	for _, set := range settings {
		table.Row(set.Path, set.Value, set.Source)
	}
	return s.PrintTable(table)
}
