package agent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// A container whose order cannot be read is removed and its master restarts it elsewhere. The
// others keep running.
func TestIntactOrdersOfDamagedFileAreKept(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	first := run(t, s)
	const waits = "while :; do sleep 0.1; done"
	for _, id := range []string{"damaged", "whole"} {
		p.start(id, "trap 'exit 7' TERM; echo up; "+waits)
		c := p.awaitState(id, apiv1.Container_STATE_RUNNING)
		p.await("it speaks", func() bool { return len(c.lines) == 1 })
	}
	first.halt()
	path := filepath.Join(s.DataDir, "containers", "damaged.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, []byte(`"order":"`))+20] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	delete(p.containers, "damaged") // the master considers an unreported container lost
	p.mu.Unlock()
	run(t, s)
	p.await("it is back", func() bool { return len(p.hellos) == 2 && len(p.hellos[1].GetContainers()) == 1 })
	p.signal("whole", agentv1.Signal_KIND_TERMINATE, time.Minute)
	if c := p.awaitEnd("whole"); c.exit.GetCode() != 7 {
		t.Errorf("got %v, want it to end as it was asked to", c.exit)
	}
	if err := os.Remove(path + ".damaged"); err != nil {
		t.Errorf("got %v, want it set aside", err)
	}
	awaitEmpty(t, s.DataDir) // including the process of the damaged one
}

func TestDamagedAgentStateIsReported(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(dir string) error{
		selfFile:        func(dir string) error { _, err := readSelf(dir); return err },
		"followed.json": func(dir string) error { return mayFollow(dir, time.Now()) },
	} {
		for text, want := range map[string]string{"": "it is empty", `{"A`: "it ends in the middle"} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := look(dir)
			d, ok := errors.AsType[*atomicfile.DamagedError](err)
			if !ok || d.Path != path || !strings.Contains(err.Error(), want) || !strings.Contains(d.Fix, "remove it") {
				t.Errorf("%s %q: got %v, want %s", name, text, err, want)
				continue
			}
			if err := errors.Join(os.Remove(path), look(dir)); err != nil {
				t.Errorf("%s: after what it says to do: got %v", name, err)
			}
		}
	}
}
