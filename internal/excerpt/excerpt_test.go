package excerpt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

func TestExcerptIsShortAndPrintable(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ in, want string }{
		"a name is shown whole":        {"agent-1", "agent-1"},
		"64 characters are whole":      {strings.Repeat("ä", 64), strings.Repeat("ä", 64)},
		"65 are cut":                   {strings.Repeat("ä", 65), strings.Repeat("ä", 64) + "… (130 bytes)"},
		"a line break cannot break":    {"a\nb", "a\ufffdb"},
		"a direction is not turned":    {"a\u202eb", "a\ufffdb"},
		"broken UTF-8 is replaced":     {"a\xffb", "a\ufffdb"},
		"four megabytes of zero bytes": {strings.Repeat("\x00", 4<<20), strings.Repeat("\ufffd", 64) + "… (4194304 bytes)"},
	} {
		if got := excerpt.Of(row.in); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

func TestMessageLengthIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	if got := excerpt.Format("%s and %q", long, long); len(got) > 300 {
		t.Errorf("two long texts: got %d bytes", len(got))
	}
	if got := excerpt.Format("%v", errors.New(long)); len(got) > excerpt.MessageBytes+32 {
		t.Errorf("a long error: got %d bytes", len(got))
	}
	if got := excerpt.Format("%d of %s", 3, "four"); got != "3 of four" {
		t.Errorf("got %q", got)
	}
}

// The cost depends on the length of the excerpt, not of the text.
func TestAnExcerptDoesNotReadTheRest(t *testing.T) {
	long := strings.Repeat("\x00", 4<<20)
	if n := testing.AllocsPerRun(10, func() { _ = excerpt.Of(long) }); n > 6 {
		t.Errorf("got %v allocations", n)
	}
}
