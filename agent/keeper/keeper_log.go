package keeper

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

const (
	// logMost is the size at which a keeper's log is truncated, in bytes.
	logMost = 64 << 10
	// saidMost is how many warnings are known again.
	saidMost = 1000
)

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
func logFile(dir string) string { return filepath.Join(dir, "keeper.log") }

// beginLog truncates a log that has become too long; its writers append.
func beginLog(name string) {
	if info, err := os.Stat(name); err == nil && info.Size() > logMost {
		_ = os.Truncate(name, 0) // it is tried again
	}
}

// logSize is where what a keeper says next begins in its log.
func logSize(dir string) int64 {
	beginLog(logFile(dir))
	info, err := os.Stat(logFile(dir))
	if err != nil {
		return 0 // there is none yet
	}
	return info.Size()
}

// lastWords is the last line of a log after its first bytes.
func lastWords(dir string, after int64) string {
	text, err := os.ReadFile(logFile(dir))
	if err != nil {
		return "it has no log: " + err.Error()
	}
	text = bytes.TrimSpace(text[min(after, int64(len(text))):])
	if len(text) == 0 {
		return "it said nothing in " + logFile(dir)
	}
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
