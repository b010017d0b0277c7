package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/internal/spreadsheet"
)

// PrintObject writes v to Out in a format that is not a table.
func (s *Streams) PrintObject(f Format, v any) error {
	text, err := formatObject(f, v)
	if err != nil {
		return err
	}
	if _, path := f.Expression(); path && s.outTerminal {
		text = bytes.Map(func(r rune) rune {
			if r != '\n' && r != '\t' && isObeyed(r) {
				return ' '
			}
			return r
		}, text)
	}
	return s.printLine(text)
}

// formatObject returns v without the final newline.
func formatObject(f Format, v any) ([]byte, error) {
	if text, ok := f.Expression(); ok {
		return findPath(text, v)
	}
	raw, err := encode(v, "  ")
	if err != nil {
		return nil, err
	}
	if f == YAML {
		raw, err = yaml.JSONToYAML(raw)
		if err != nil {
			return nil, fmt.Errorf("cannot print YAML: %w", err)
		}
	}
	return bytes.TrimSuffix(raw, []byte("\n")), nil
}

func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	return out.Bytes(), nil
}

func findPath(text string, v any) ([]byte, error) {
	path, err := parsePath(text)
	if err != nil {
		return nil, err
	}
	raw, err := encode(v, "")
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return nil, fmt.Errorf("cannot read the JSON: %w", err)
	}
	var out bytes.Buffer
	if err := path.Execute(&out, plain); err != nil {
		return nil, fmt.Errorf("cannot evaluate the jsonpath expression: %w", err)
	}
	return out.Bytes(), nil
}

// PrintJSON writes v to Out as indented JSON with a final newline.
func (s *Streams) PrintJSON(v any) error { return s.PrintObject(JSON, v) }

// PrintJSONLine writes v to Out as one line of JSON, for streams.
func (s *Streams) PrintJSONLine(v any) error {
	raw, err := encode(v, "")
	if err != nil {
		return err
	}
	return s.printLine(bytes.TrimSuffix(raw, []byte("\n")))
}

// PrintNames writes the first cells of t to Out, one a line.
func (s *Streams) PrintNames(t *Table) error {
	for _, row := range t.rows {
		if err := s.printLine([]byte(oneLine(formatCell(row[0], Look{})))); err != nil {
			return err
		}
	}
	return nil
}

// PrintCSV writes t to Out as CSV with a line of headings: all columns, whole IDs, dates in UTC and
// durations in seconds.
func (s *Streams) PrintCSV(t *Table) error { return s.printCSV(t, true) }

func (s *Streams) printCSV(t *Table, headings bool) error {
	w := spreadsheet.NewWriter(s.Out)
	heads := make([]string, 0, len(t.columns))
	for _, c := range t.columns {
		heads = append(heads, ColumnName(c.Head))
	}
	if headings {
		w.Write(heads...)
	}
	for _, row := range t.rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cells = append(cells, exactCell(cell))
		}
		w.Write(cells...)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("cannot print CSV: %w", err)
	}
	return nil
}

// exactCell formats a cell for programs.
func exactCell(cell any) string {
	switch c := cell.(type) {
	case time.Time:
		if c.IsZero() {
			return ""
		}
		return c.UTC().Format(time.RFC3339)
	case time.Duration:
		return fmt.Sprintf("%.0f", c.Seconds())
	default:
		return oneLine(formatCell(cell, Look{}))
	}
}
