package cloudtest

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
)

// CheckInvalid fails the test unless err is an Invalid error whose text contains want, or nil if
// want is empty.
func CheckInvalid(t testing.TB, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (cloud.KindOf(err) != cloud.Invalid || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want %q", err, want)
	}
}
