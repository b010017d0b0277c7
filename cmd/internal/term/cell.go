package term

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/duration"
)

// ID is a cell with an ID. On a terminal, the beginning of a UUID stands for it.
type ID string

// shortID is the number of characters of a UUID that are shown on a terminal, if they distinguish the rows.
const shortID = 8

// formatCell formats a cell: a time as the age of what happened then, or a date in wide output; a duration
// in its largest units; and everything else as fmt does.
func formatCell(cell any, l Look) string {
	switch c := cell.(type) {
	case nil:
		return ""
	case time.Time:
		return formatTime(c, l)
	case time.Duration:
		return FormatDuration(c)
	default:
		return fmt.Sprint(c)
	}
}

func formatTime(t time.Time, l Look) string {
	switch {
	case t.IsZero():
		return ""
	case l.Wide:
		return FormatDate(t, l.UTC)
	case t.After(l.Now):
		return "in " + FormatDuration(t.Sub(l.Now))
	default:
		return FormatDuration(l.Now.Sub(t))
	}
}

// FormatDate formats a time in the local time zone or in UTC.
func FormatDate(t time.Time, utc bool) string {
	if utc {
		return t.UTC().Format(time.RFC3339)
	}
	return t.Local().Format(time.DateTime)
}

// FormatDuration formats a duration in its one or two largest units, such as "90s" or "3h5m".
func FormatDuration(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// shortIDs returns the number of characters that distinguish the IDs of a column, at least shortID, or 0 if
// they are not shortened.
func shortIDs(rows [][]any, column int, l Look) int {
	if l.width == 0 || l.Wide {
		return 0
	}
	for n := shortID; n < len(uuid.Nil.String()); n++ {
		whole := map[string]string{}
		clash := false
		for _, row := range rows {
			id, _ := row[column].(ID)
			short := cutID(string(id), n)
			if old, seen := whole[short]; seen && old != string(id) {
				clash = true
				break
			}
			whole[short] = string(id)
		}
		if !clash {
			return n
		}
	}
	return 0
}

// cutID returns the first n characters of a UUID, and any other ID as it is.
func cutID(id string, n int) string {
	if n == 0 || len(id) != len(uuid.Nil.String()) || uuid.Validate(id) != nil {
		return id
	}
	return strings.TrimSuffix(id[:n], "-")
}

// CompareCells orders two cells of a column: numbers and durations by size, times from the youngest to the
// oldest, and texts by the alphabet, with those that are empty at the end.
func CompareCells(a, b any) int {
	if x, ok := a.(time.Time); ok {
		y, _ := b.(time.Time)
		return y.Compare(x)
	}
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return cmp.Compare(x, y)
		}
	}
	x, y := formatCell(a, Look{}), formatCell(b, Look{})
	if x == "" || y == "" {
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
}

func number(cell any) (float64, bool) {
	switch n := cell.(type) {
	case int:
		return float64(n), true
	case int32:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case time.Duration:
		return float64(n), true
	default:
		return 0, false
	}
}

// ColumnName returns the name of a column in lower case and without spaces, such as "last-login".
func ColumnName(head string) string { return strings.ReplaceAll(strings.ToLower(head), " ", "-") }
