package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pterm/pterm"

	"github.com/det-deploy/det-deploy/internal/document"
)

// columnGap is the space between two columns of a table.
const columnGap = "  "

// Table is a table of typed cells. On a terminal it fits the width: long cells are shortened, and then
// columns of little importance are left out. Elsewhere nothing is cut, which suits tools such as cut and awk.
type Table struct {
	columns []Column
	rows    [][]any
}

// NewTable returns an empty table with the given headings. A heading with the prefix ">" right-aligns its
// column, for numbers. On a narrow terminal, the last columns are left out first.
func NewTable(heads ...string) *Table {
	columns := make([]Column, 0, len(heads))
	for i, h := range heads {
		columns = append(columns, Column{Head: h, Rank: i, Shortest: shortestCell})
	}
	return TableOf(columns...)
}

// TableOf returns an empty table with the given columns.
func TableOf(columns ...Column) *Table {
	t := &Table{columns: slices.Clone(columns)}
	for i := range t.columns {
		t.columns[i].read()
	}
	return t
}

// Row adds a row. Cells are formatted according to their types; see ID, and formatCell. Missing cells are
// empty.
func (t *Table) Row(cells ...any) {
	row := make([]any, len(t.columns))
	copy(row, cells)
	t.rows = append(t.rows, row)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Look is how a table is shown.
type Look struct {
	// Wide shows all columns, whole IDs, and dates instead of ages.
	Wide bool
	// UTC shows dates in UTC instead of the local time zone.
	UTC bool
	// Now is the time from which ages are counted.
	Now time.Time

	// width is that of the terminal, or 0 if nothing may be cut.
	width int
}

// Lines returns the headings and the rows without colors, not fitted to any width.
func (t *Table) Lines() (head string, rows []string) { return t.lines(Look{Now: time.Now()}) }

func (t *Table) lines(l Look) (head string, rows []string) {
	var columns [][]string
	var shown []Column
	for i, c := range t.columns {
		if !c.Wide || l.Wide {
			columns, shown = append(columns, t.format(i, l)), append(shown, c)
		}
	}
	columns, shown = fit(columns, shown, l)
	cells := make([][]string, 1+len(t.rows))
	for i, column := range columns {
		if shown[i].right {
			alignRight(column)
		}
		for j, cell := range column {
			cells[j] = append(cells[j], cell)
		}
	}
	lines := layOut(pterm.TablePrinter{Data: cells, Separator: columnGap, LeftAlignment: true})
	if l.width > 0 && !l.Wide {
		for i := range lines {
			lines[i] = CutLine(lines[i], l.width)
		}
	}
	return lines[0], lines[1:]
}

// format returns the heading and the cells of a column. An empty cell is noText, so that the number of columns
// is constant.
func (t *Table) format(i int, l Look) []string {
	out := []string{t.columns[i].Head}
	short := shortIDs(t.rows, i, l)
	for _, row := range t.rows {
		text := oneLine(formatCell(row[i], l))
		if id, ok := row[i].(ID); ok {
			text = oneLine(cutID(string(id), short))
		}
		if text == "" {
			text = noText
		}
		out = append(out, text)
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

// PrintTable writes t to Out, fitted to the terminal.
func (s *Streams) PrintTable(t *Table) error { return s.PrintTableAs(t, Look{Now: time.Now()}) }

// PrintTableAs writes t to Out as l says, fitted to the terminal.
func (s *Streams) PrintTableAs(t *Table, l Look) error {
	text := strings.Join(s.TableLines(t, l), "\n") + "\n"
	if _, err := io.WriteString(s.Out, text); err != nil {
		return fmt.Errorf("cannot print the table: %w", err)
	}
	return nil
}

// ShowTable writes t to Out in a table format.
func (s *Streams) ShowTable(f Format, t *Table, l Look) error {
	switch f {
	case Name:
		return s.PrintNames(t)
	case CSV:
		return s.PrintCSV(t)
	default:
		return s.PrintTableAs(t, l)
	}
}

// TableLines returns the lines of PrintTableAs.
func (s *Streams) TableLines(t *Table, l Look) []string {
	l.width, _ = s.outSize()
	head, rows := t.lines(l)
	if s.colourOut() {
		head = Bold.Paint(head)
	}
	return append([]string{head}, rows...)
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
	table := NewTable("SETTING", "VALUE", "FROM")
	for _, set := range settings {
		table.Row(set.Path, set.Value, set.Source)
	}
	return s.PrintTable(table)
}
