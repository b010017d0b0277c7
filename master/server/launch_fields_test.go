package server

import (
	"slices"
	"testing"
)

func TestLaunchFieldsAreThoseBeyondUpstream(t *testing.T) {
	t.Parallel()
	got := launchFields()
	if !slices.Contains(got, "after") || !slices.Contains(got, "labels") || slices.Contains(got, "config") {
		t.Errorf("got %v", got)
	}
}
