package build

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionOfCheckoutContainsCommit(t *testing.T) {
	t.Parallel()
	i := Info{}.with([]debug.BuildSetting{
		{Key: "vcs.revision", Value: "1a2b3c4d5e6f"},
		{Key: "vcs.modified", Value: "true"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
	})
	want := Info{Commit: "1a2b3c4d5e6f", Modified: true, Time: "2026-01-02T03:04:05Z"}
	if d := cmp.Diff(i, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if got, want := i.unreleasedName(), "dev-1a2b3c4d-modified"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVersionWithoutInformationIsDev(t *testing.T) {
	t.Parallel()
	if got := (Info{}).unreleasedName(); got != "dev" {
		t.Errorf("got %q, want dev", got)
	}
}
