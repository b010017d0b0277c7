package process

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Who reads the output of a task while that is removed does not read the next one's.
func TestOutputThatIsReadIsNotGivenToAnother(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if _, code := outcome(t, r, script("first", "echo line")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	h := r.heldOf("first")
	reads := r.takeReads(h)
	if reads == nil {
		t.Fatal("the output of a task of this agent is not open")
	}
	if again := r.takeReads(h); again != nil {
		t.Error("it is lent twice")
	}
	if err := r.Remove(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	if _, code := outcome(t, r, script("second", "echo line")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	first, err1 := reads[0].Stat()
	second, err2 := os.Stat(r.containerDir("second").outputFiles()[0])
	if err := errors.Join(err1, err2); err != nil || os.SameFile(first, second) {
		t.Errorf("%v; it has become the next task's", err)
	}
	r.returnReads("first", h, reads)
	if err := reads[0].Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v; what is returned after the removal is closed", err)
	}
}

// A container that is started again under its name has nothing of the one before.
func TestWhatIsRememberedIsOfOneStart(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if _, code := outcome(t, r, script("task", "echo line")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	h := r.heldOf("task")
	end, known := r.endOf(h)
	reads := r.takeReads(h)
	if !known || reads == nil {
		t.Fatalf("got %t, %v, want the end of the task and its output", known, reads)
	}
	if err := r.Remove(t.Context(), "task"); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), script("task", "sleep 100")); err != nil {
		t.Fatal(err)
	}
	r.noteEnd(h, end)
	r.returnReads("task", h, reads)
	if _, known := r.endOf(r.heldOf("task")); known {
		t.Error("the end of the one before is the running one's")
	}
	if now := r.takeReads(r.heldOf("task")); now == nil || now == reads {
		t.Errorf("got %v as the output, want its own and not %v", now, reads)
	} else {
		now.close()
	}
	if err := reads[0].Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v; what is returned after the removal is closed", err)
	}
	if err := r.Remove(t.Context(), "task"); err != nil {
		t.Error(err)
	}
}

// The keeper and another agent look at the directory, and find what this one remembers.
func TestWhatIsRememberedIsWhatStandsThere(t *testing.T) {
	t.Parallel()
	for kind, r := range map[string]*Runtime{"plain": newPlain(t), "isolated": isolating(t)} {
		if kind == "isolated" && r.Isolation() != nil {
			continue
		}
		if _, code := outcome(t, r, script("task", "echo line; exit 3")); code != 3 {
			t.Errorf("%s: got code %d", kind, code)
		}
		end, known := r.endOf(r.heldOf("task"))
		if s, err := r.containerDir("task").readStatus(); err != nil || !known || s != end {
			t.Errorf("%s: got %v, %t, want %v, %v", kind, end, known, s, err)
		}
		found := r.containerDir("task").look()
		h := r.forget("task")
		if h.files != found.files || h.output != found.output || h.lent != found.lent || h.isolated != found.isolated || h.uid != found.uid {
			t.Errorf("%s: got %+v, want %+v", kind, h, found)
		}
		h.reads.close()
		// As after the start of the next agent.
		if code, err := r.Wait(t.Context(), "task"); err != nil || code != 3 {
			t.Errorf("%s: got %d, %v", kind, code, err)
		}
		lines := 0
		err := r.Logs(t.Context(), "task", container.Position{}, func(l []container.Line) error { lines += len(l); return nil })
		if err = errors.Join(err, r.Remove(t.Context(), "task")); err != nil || lines != 1 {
			t.Errorf("%s: got %d lines, %v", kind, lines, err)
		}
	}
}

func TestOutputIsUsedAgainWhetherItIsOpenOrNot(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if _, code := outcome(t, r, script("first", "echo line")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	name := r.containerDir("first").outputFiles()[0]
	if err := r.Remove(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	s := &r.onDisk.outputs[0]
	for s.reads.each(checkUnused) != nil { // who started the first task may be about to close them
		_ = wait.For(t.Context(), time.Millisecond) // the test's own limit ends it
	}
	s.reads.close()
	s.reads, s.unused = nil, false
	if said, code := outcome(t, r, script("second", "echo next")); code != 0 || said != "next\n" {
		t.Errorf("got code %d and %q", code, said)
	}
	if again := r.containerDir("second").outputFiles()[0]; again != name {
		t.Errorf("got %s, want %s again", again, name)
	}
}
