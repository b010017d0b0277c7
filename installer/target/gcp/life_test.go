package gcp_test

import (
	"testing"
	"testing/synctest"

	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
)

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func TestTheClusterComesAndGoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		if s.tried != 1 {
			t.Errorf("got %d tasks run to try the cluster, want 1", s.tried)
		}
		s.wantNothingToDo(t)
		_, err := s.down(t.Context(), true)
		must(t, err)
		s.wantLeft(t)
	})
}
