package gcp_test

import (
	"testing"
	"testing/synctest"
)

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}
