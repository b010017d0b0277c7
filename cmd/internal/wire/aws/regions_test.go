package aws

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// A region that does not answer only loses its place in the list.
func TestUnavailableRegionDoesNotDelayList(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	regions := slices.Repeat([]string{"dead"}, 3*usageLooks)
	got := machinesIn(ctx, append(regions, "denied", "us-west-2"), func(ctx context.Context, region string) (int, error) {
		switch region {
		case "dead":
			<-ctx.Done()
			return 0, ctx.Err()
		case "denied":
			return 0, errors.New("not allowed")
		}
		return 2, nil
	})
	if len(got) != 1 || got["us-west-2"].Machines != 2 {
		t.Errorf("got %v, want the machines of us-west-2 alone", got)
	}
}
