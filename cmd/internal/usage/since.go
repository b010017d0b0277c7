package usage

import "time"

// Since parses the value of --since: a duration before now or a time in RFC 3339. It returns the zero time
// for an empty value.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, Errorf("--since %q: must be a duration such as 10m, or a time such as 2006-01-02T15:04:05Z", text)
	}
	return at, nil
}
