package wire

import (
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func TestRegionsAreListedByUse(t *testing.T) {
	t.Parallel()
	got := Regions{
		Names: []string{"af-south-1", "ap-east-1", "eu-west-1", "us-east-1", "us-east-2", "us-west-2"},
		Uses: map[string]RegionUse{
			"us-west-2": {Clusters: []string{"lab"}, Machines: 3},
			"eu-west-1": {Clusters: []string{"a", "b"}},
			"us-east-1": {Machines: 1},
		},
		Preferred: "us-east-2",
		Place: func(region string) string {
			return map[string]string{"us-west-2": "Oregon", "us-east-2": "Ohio"}[region]
		},
	}.Choices()
	want := []term.Choice{
		{Value: "us-east-2", About: "Ohio"},
		{Value: "eu-west-1", About: "2 clusters"},
		{Value: "us-west-2", About: "Oregon: cluster lab, 3 machines"},
		{Value: "us-east-1", About: "1 machine"},
		{Value: "af-south-1"},
		{Value: "ap-east-1"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
