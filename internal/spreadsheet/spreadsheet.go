// Package spreadsheet writes CSV files, which people open in spreadsheets.
package spreadsheet

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// Writer writes a CSV file whose cells no spreadsheet takes for formulas.
type Writer struct{ lines *csv.Writer }

// NewWriter returns a writer. Its user must call Flush.
func NewWriter(w io.Writer) Writer { return Writer{csv.NewWriter(w)} }

// Write writes a line. Flush returns its error.
func (w Writer) Write(texts ...string) {
	cells := make([]string, 0, len(texts))
	for _, text := range texts {
		cells = append(cells, cell(text))
	}
	_ = w.lines.Write(cells)
}

// Flush writes what is buffered and returns the first error.
func (w Writer) Flush() error {
	w.lines.Flush()
	return w.lines.Error()
}

// cell returns a text after a quote if spreadsheets would calculate it: what others wrote could read further
// cells and send them elsewhere. Numbers stay as they are.
func cell(text string) string {
	if text == "-" || !strings.ContainsAny(text[:min(len(text), 1)], "=+-@\t\r\n") {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
