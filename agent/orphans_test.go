package agent

import (
	"context"
	"log/slog"
	"testing"
)

// hung is a runtime whose engine does not answer List.
type hung struct {
	closingRuntime
	asked chan struct{} // closed by the first call
	until chan struct{} // closed when the test ends
}

// List blocks for longer than orphanPatience.
func (h hung) List(context.Context, string) ([]string, error) {
	close(h.asked)
	<-h.until
	return nil, nil
}

func TestHungEngineDoesNotBlockSession(t *testing.T) {
	p := newPeer(t)
	cfg := Config{Settings: settings(t, p), Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	ctx, cancel := context.WithCancel(t.Context())
	a, err := newAgent(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := hung{closingRuntime: a.runtime, asked: make(chan struct{}), until: make(chan struct{})}
	a.runtime = h
	ended := make(chan error, 1)
	go func() { ended <- a.runLink(ctx, cfg) }()
	t.Cleanup(func() {
		close(h.until)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	<-h.asked
	p.start("while-it-hangs", "exit 3")
	if c := p.awaitEnd("while-it-hangs"); c.exit.GetCode() != 3 {
		t.Errorf("got %v", c.exit)
	}
}
