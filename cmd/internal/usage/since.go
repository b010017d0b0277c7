package usage

import (
	"strconv"
	"strings"
	"time"
)

// Since parses the value of --since: a duration before now, a date, whose day begins in the location of
// now, or a time in RFC 3339. It returns the zero time for an empty value.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := parseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, Errorf("--since %q: must be a duration such as 10m or 1d, a date such as 2006-01-02, or a time such as 2006-01-02T15:04:05Z", text)
	}
	return at, nil
}

// maxDays is the number of days in the longest duration.
const maxDays = 106_751

// parseDuration is time.ParseDuration with days, such as 1d.
func parseDuration(text string) (time.Duration, error) {
	if count, found := strings.CutSuffix(text, "d"); found {
		if days, err := strconv.Atoi(count); err == nil && days <= maxDays {
			return time.Duration(days) * 24 * time.Hour, nil
		}
	}
	return time.ParseDuration(text)
}
