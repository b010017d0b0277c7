package agentv1

import "time"

// lastUS is the last microsecond that JSON and protobuf's Timestamp can write wherever
// on Earth: a day before the end of the year 9999.
const lastUS = 253402214399999999

// Instant is when an agent says that something was, and now where it names a time that
// cannot be: what could not be written down would be tried again for ever.
func Instant(us int64, now time.Time) time.Time {
	if us < 0 || us > lastUS {
		return now
	}
	return time.UnixMicro(us)
}
