package metric

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// MaxBytes limits the encoded size of one step of one group to some 100,000 numbers. Long lists
	// and images should be written to files.
	MaxBytes = 4 << 20
	maxName  = 1024
	maxGroup = 255
)

// checkReport returns all errors in the keys of a report.
func (r Report) checkReport() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(r.Trial <= 0 || r.Run <= 0, "trial and run: must be positive (%d, %d)", r.Trial, r.Run)
	refuse(r.Steps < 0 || r.Base < 0, "steps completed: must not be negative (%d)", min(r.Steps, r.Base))
	refuse(r.Group == "" || len(r.Group) > maxGroup, "group: must have 1 to %d bytes (%q)", maxGroup, excerpt.Of(r.Group))
	refuse(!utf8.ValidString(r.Group), "group: must be UTF-8 (%q)", excerpt.Of(r.Group))
	refuse(strings.ContainsFunc(r.Group, unicode.IsControl), "group: must have no control characters (%q)", excerpt.Of(r.Group))
	refuse(strings.Contains(r.Group, "."), "group: must not contain a dot, which separates groups from names (%q)", excerpt.Of(r.Group))
	refuse(len(r.Values.Averages) > maxNames, "metrics: at most %d names in a report (%d)", maxNames, len(r.Values.Averages))
	for name := range r.Values.Averages {
		if name == "" || len(name) > maxName {
			errs = append(errs, fmt.Errorf("metrics: names must have 1 to %d bytes (%q)", maxName, excerpt.Of(name)))
			break
		}
	}
	return errors.Join(errs...)
}

// prepare returns the report with normalized values, and its encoded row. It returns ErrInvalid if
// the report is invalid.
func (r Report) prepare() (Report, store.MetricRow, error) {
	values, err := r.Values.normalize()
	if err != nil {
		return r, store.MetricRow{}, &InvalidError{Report: r, Err: err}
	}
	r.Values = values
	row, err := r.encodeRow()
	return r, row, err
}

// encodeRow returns the encoded report, or ErrInvalid.
func (r Report) encodeRow() (store.MetricRow, error) {
	row := store.MetricRow{Trial: r.Trial, Group: r.Group, Steps: r.Steps, Run: r.Run, At: r.At.UnixMicro()}
	err := r.checkReport()
	if err == nil {
		row.Doc, err = json.Marshal(r.Values)
	}
	if err == nil && len(row.Doc) > MaxBytes {
		err = fmt.Errorf("metrics: at most %d MiB for a step of a group (%d bytes); write large data to files", MaxBytes>>20, len(row.Doc))
	}
	if err != nil {
		return row, &InvalidError{Report: r, Err: err}
	}
	return row, nil
}

func decodeRow(row store.MetricRow) (Report, error) {
	r := Report{Trial: row.Trial, Run: row.Run, Group: row.Group, Steps: row.Steps, At: time.UnixMicro(row.At).UTC()}
	if err := json.Unmarshal(row.Doc, &r.Values); err != nil {
		return r, fmt.Errorf("read metrics of trial %d, group %q, step %d: invalid encoding: %w", r.Trial, r.Group, r.Steps, err)
	}
	return r, nil
}

// show formats a value for an error message.
func show(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return excerpt.Of(string(b))
}
