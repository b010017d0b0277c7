package measure

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestProcessorOfMatchesProcessor(t *testing.T) {
	t.Parallel()
	for end := Processor() + 50*time.Millisecond; Processor() < end; {
		_ = strings.Repeat("work", 1000)
	}
	before := Processor()
	own, _ := ProcessorOf(os.Getpid())
	after := Processor()
	if own < before-20*time.Millisecond || own > after+20*time.Millisecond {
		t.Errorf("/proc reports %v of processor time, want %v to %v", own, before, after)
	}
	if own, children := ProcessorOf(-1); own != 0 || children != 0 {
		t.Errorf("got %v and %v for an invalid PID, want none", own, children)
	}
}

func TestErrReportsGrowth(t *testing.T) {
	t.Parallel()
	var even, steep Growth
	even.See("an even walk", 10, 1, 0)
	even.See("an even walk", 100, 15, 0)
	even.See("another", 1, 1000, 0)
	even.See("below noise", 1, 0.01, 1)
	even.See("below noise", 10, 0.9, 1)
	if err := even.Err(); err != nil {
		t.Error(err)
	}
	steep.See("a full walk", 10, 1, 0)
	steep.See("a full walk", 100, 100, 0)
	if err := steep.Err(); err == nil || !strings.Contains(err.Error(), "the cost of a full walk grows faster than its work: 0.1 per unit of 10, then 1 per unit of 100") {
		t.Errorf("got %v", err)
	}
}
