package resource_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

func TestGateIsClosedUnlessOpened(t *testing.T) {
	t.Parallel()
	var g resource.Gate
	if err := g.Pass(t.Context(), "create network"); !errors.Is(err, resource.ErrReadOnly) {
		t.Fatalf("before: got %v, want %v", err, resource.ErrReadOnly)
	}
	errLost := errors.New("lease lost")
	var lost bool
	shut := g.Open(func(context.Context) error {
		if lost {
			return errLost
		}
		return nil
	})
	if err := g.Pass(t.Context(), "create network"); err != nil {
		t.Errorf("open: got %v, want nil", err)
	}
	lost = true
	if err := g.Pass(t.Context(), "create network"); !errors.Is(err, errLost) {
		t.Errorf("open, check fails: got %v, want %v", err, errLost)
	}
	shut()
	if err := g.Pass(t.Context(), "create network"); !errors.Is(err, resource.ErrReadOnly) {
		t.Errorf("after: got %v, want %v", err, resource.ErrReadOnly)
	}
}

func TestFoundString(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		f    resource.Found
		want string
	}{
		{"name and identity differ", resource.Found{Kind: "subnet", ID: "subnet-1", Name: "a"}, "subnet a (subnet-1)"},
		{"the name is the identity", resource.Found{Kind: "role", ID: "det", Name: "det"}, "role det"},
		{"no name", resource.Found{Kind: "volume", ID: "vol-1"}, "volume vol-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.f.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSortByKindNameAndID(t *testing.T) {
	t.Parallel()
	got := []resource.Found{
		{Kind: "b", ID: "1"},
		{Kind: "a", Name: "y", ID: "1"},
		{Kind: "a", Name: "x", ID: "2"},
		{Kind: "a", Name: "x", ID: "1"},
	}
	resource.Sort(got)
	want := []resource.Found{
		{Kind: "a", Name: "x", ID: "1"},
		{Kind: "a", Name: "x", ID: "2"},
		{Kind: "a", Name: "y", ID: "1"},
		{Kind: "b", ID: "1"},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
