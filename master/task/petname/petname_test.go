package petname

import (
	"regexp"
	"testing"

	"github.com/google/uuid"
)

func TestNamesAreThreeWordsAndStable(t *testing.T) {
	t.Parallel()
	three := regexp.MustCompile(`^[a-z]+-[a-z]+-[a-z]+$`)
	seen := map[string]bool{}
	for range 200 {
		id := uuid.New()
		name := Of(id)
		if !three.MatchString(name) {
			t.Errorf("got %q, want three words", name)
		}
		if again := Of(id); again != name {
			t.Errorf("got %q the second time, want %q", again, name)
		}
		seen[name] = true
	}
	if len(seen) < 190 {
		t.Errorf("got %d different names of 200, want nearly all different", len(seen))
	}
}
