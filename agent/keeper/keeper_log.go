package keeper

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/det-deploy/det-deploy/agent/companion"
)

// saidMost is how many warnings are known again.
const saidMost = 1000

// says is a log that has each warning once until it forgets.
type says struct {
	log *slog.Logger

	mu   sync.Mutex // guards said
	said map[string]bool
}

func (s *says) warnOnce(text string, args ...any) {
	if s.isFirst(fmt.Sprint(text, args)) {
		s.log.Warn(text, args...) //nolint:sloglint // its callers give constants
	}
}

func (s *says) isFirst(words string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[words] {
		return false
	}
	if s.said == nil || len(s.said) >= saidMost {
		s.said = map[string]bool{}
	}
	s.said[words] = true
	return true
}

func (s *says) forgetWarnings() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = nil
}

// logFile is where the keeper of a data_dir leaves its words.
func logFile(dir string) companion.Log { return companion.Log(filepath.Join(dir, "keeper.log")) }
