package agentv1_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestInstantReplacesInvalidTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 0)
	for us, want := range map[int64]time.Time{
		0: time.UnixMicro(0), 1_800_000_000_000_001: time.UnixMicro(1_800_000_000_000_001), -1: now, math.MinInt64: now, math.MaxInt64: now,
		253402214399999999: time.UnixMicro(253402214399999999), 253402214400000000: now,
	} {
		got := agentv1.Instant(us, now)
		if _, err := json.Marshal(got); err != nil || !got.Equal(want) {
			t.Errorf("%d: got %v, %v, want %v", us, got, err, want)
		}
	}
}
