package agentv1

import "time"

// lastUS is the last microsecond that JSON and protobuf's Timestamp can represent in every time
// zone: a day before the end of the year 9999.
const lastUS = 253402214399999999

// Instant converts an agent's time stamp. It returns now for a time out of range, because a record
// that cannot be stored would be retried forever.
func Instant(us int64, now time.Time) time.Time {
	if us < 0 || us > lastUS {
		return now
	}
	return time.UnixMicro(us)
}
