package term

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// shortestCell is the width below which cells of a column without declared importance are not shortened.
const shortestCell = 16

// noText is an empty cell.
const noText = "-"

// Column is a column of a Table.
type Column struct {
	// Head is the heading. The prefix ">" right-aligns the column, for numbers.
	Head string
	// Rank is the importance: on a narrow terminal, columns of the highest rank are left out first. The
	// first column always stays.
	Rank int
	// Shortest is the width to which longer cells may be shortened on a terminal, or 0 for never.
	Shortest int
	// Wide columns are shown only in wide output and as CSV.
	Wide bool

	right bool
}

func (c *Column) read() {
	if rest, ok := strings.CutPrefix(c.Head, ">"); ok {
		c.Head, c.right = rest, true
	}
}

// fit makes columns fit the width of l: it leaves out columns, the empty ones first, until the
// shortest form of the others fits, and then shortens cells as far as necessary.
func fit(cells [][]string, columns []Column, l Look) ([][]string, []Column) {
	if l.width == 0 || l.Wide {
		return cells, columns
	}
	for len(columns) > 1 && total(shortest(cells, columns)) > l.width {
		i := emptyColumn(cells)
		if i < 0 {
			i = leastImportant(columns)
		}
		cells, columns = slices.Delete(cells, i, i+1), slices.Delete(columns, i, i+1)
	}
	widths := widen(shortest(cells, columns), natural(cells), l.width)
	for i, column := range cells {
		for j := range column {
			column[j] = CutLine(column[j], widths[i])
		}
	}
	return cells, columns
}

// emptyColumn returns the index of a column without any text below its heading, or -1; it is never the first
// column.
func emptyColumn(cells [][]string) int {
	for i, column := range cells {
		if i > 0 && !slices.ContainsFunc(column[1:], func(text string) bool { return text != noText }) {
			return i
		}
	}
	return -1
}

// leastImportant returns the index of the last column with the highest rank; it is never the first column.
func leastImportant(columns []Column) int {
	at := len(columns) - 1
	for i := at; i > 0; i-- {
		if columns[i].Rank > columns[at].Rank {
			at = i
		}
	}
	return at
}

// total returns the width of a table with columns of these widths.
func total(widths []int) int {
	sum := len(columnGap) * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// natural returns the widths of columns that are not shortened.
func natural(cells [][]string) []int {
	widths := make([]int, len(cells))
	for i, column := range cells {
		for _, text := range column {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	return widths
}

// shortest returns the widths of columns that are shortened as far as possible.
func shortest(cells [][]string, columns []Column) []int {
	widths := natural(cells)
	for i, c := range columns {
		if c.Shortest > 0 {
			widths[i] = min(widths[i], max(c.Shortest, ansi.StringWidth(c.Head)))
		}
	}
	return widths
}

// widen distributes the room that is left evenly among the columns that are narrower than their cells.
func widen(widths, wanted []int, room int) []int {
	for left := room - total(widths); left > 0; left-- {
		at := -1
		for i := range widths {
			if widths[i] < wanted[i] && (at < 0 || widths[i] < widths[at]) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		widths[at]++
	}
	return widths
}
