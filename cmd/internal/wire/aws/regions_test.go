package aws

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func TestRegionsAreListedByUse(t *testing.T) {
	t.Parallel()
	got := byUse([]string{"af-south-1", "ap-east-1", "eu-west-1", "us-east-1", "us-west-2"}, map[string]regionUse{
		"us-west-2": {clusters: []string{"lab"}, machines: 3},
		"eu-west-1": {clusters: []string{"a", "b"}},
		"us-east-1": {machines: 1},
	})
	want := []term.Choice{
		{Value: "eu-west-1", About: "2 clusters"},
		{Value: "us-west-2", About: "cluster lab, 3 machines"},
		{Value: "us-east-1", About: "1 machine"},
		{Value: "af-south-1"},
		{Value: "ap-east-1"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A region that does not answer costs the list nothing but its place.
func TestARegionThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
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
	if len(got) != 1 || got["us-west-2"].machines != 2 {
		t.Errorf("got %v, want the machines of us-west-2 alone", got)
	}
}
