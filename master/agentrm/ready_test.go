package agentrm

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestReadyWaitsForAPass(t *testing.T) {
	t.Parallel()
	var passes atomic.Int64
	c := newCluster(t, func(c *Config) {
		c.Decided = func(name string, _ pool.Pool, _ pool.Decision) {
			if name == "other" { // the last pool of a pass
				passes.Add(1)
			}
		}
	})
	for range 3 {
		before := passes.Load()
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if passes.Load() == before {
			t.Error("it is ready without a pass of its loop")
		}
	}
}

func TestReadyFailsBeforeAndAfterRun(t *testing.T) {
	t.Parallel()
	o := newOwner()
	s := storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	r, err := New(Config{
		Pools: []Pool{defaultPool()}, DefaultAux: "default", DefaultCompute: "default", Store: s,
		Gate: o, Tasks: o, Logs: o, ClusterID: "c1", Version: "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := r.Ready(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is asked before it runs, and answers %v", err)
	}
	asked := make(chan error, 1)
	go func() { asked <- r.Ready(t.Context()) }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := <-asked; err != nil {
		t.Errorf("it is not ready once it has begun: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := r.Ready(t.Context()); err == nil {
		t.Error("it is ready after its end")
	}
}
