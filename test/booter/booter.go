package booter

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// look is how often the booter asks the cloud what there is.
const look = 200 * time.Millisecond

// Booter makes the machines of a cloud run.
type Booter struct {
	t        testing.TB
	lab      *Lab
	cloud    Cloud
	platform Platform

	// mu guards what is below, and whether machines are dead.
	mu       sync.Mutex
	machines map[string]*running
	booted   int
}

// running is a machine that was booted. A dead one is kept for its console.
type running struct {
	*machine
	root string
	dead bool
	// poweredOff says that the cloud was told.
	poweredOff bool
	// has is what was attached to it since it boots: addresses and disks.
	has map[string]bool
	// shown is how much of its console the cloud has seen, and pressed says that its
	// power key was pressed. Only the booter's turns use them.
	shown   int
	pressed bool
}

// Start boots whatever the cloud launches, until the test ends. The cloud's server runs
// in the lab.
func Start(t testing.TB, lab *Lab, cloud Cloud) *Booter {
	t.Helper()
	b := &Booter{t: t, lab: lab, cloud: cloud, platform: cloud.Platform(), machines: map[string]*running{}}
	need(t, b.platform.Programs)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		b.stopAll(context.WithoutCancel(ctx))
	})
	return b
}

func (b *Booter) run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if err := b.turn(ctx); err != nil && ctx.Err() == nil {
			b.t.Logf("booter: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// turn makes what runs what there is.
func (b *Booter) turn(ctx context.Context) error {
	all, err := b.cloud.Machines(ctx)
	if err != nil {
		return err
	}
	var errs []error
	listed := make(map[string]bool, len(all))
	for _, m := range all {
		listed[m.ID] = true
		errs = append(errs, b.settle(ctx, m), b.attach(ctx, m))
		b.showConsole(m.ID)
	}
	for _, r := range b.unlisted(listed) {
		errs = append(errs, b.kill(ctx, r))
	}
	return errors.Join(errs...)
}

// showConsole shows a cloud that wants to see it what a machine wrote.
func (b *Booter) showConsole(id string) {
	taker, ok := b.cloud.(ConsoleTaker)
	r := b.get(id)
	if !ok || r == nil {
		return
	}
	if text := r.console.String(); len(text) > r.shown {
		taker.TakeConsole(id, text[r.shown:])
		r.shown = len(text)
	}
}

// unlisted are the machines that the cloud does not have any more.
func (b *Booter) unlisted(listed map[string]bool) []*running {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []*running
	for id, r := range b.machines {
		if !r.dead && !listed[id] {
			out = append(out, r)
		}
	}
	return out
}

func (b *Booter) get(id string) *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machines[id]
}

// settle boots, kills or reports one machine.
func (b *Booter) settle(ctx context.Context, m Machine) error {
	r := b.get(m.ID)
	switch {
	case m.Powered && (r == nil || r.dead):
		return b.boot(ctx, m)
	case r != nil && !r.dead && (!m.Powered || r.root != m.Root):
		return b.kill(ctx, r)
	case m.Powered && r != nil && !r.poweredOff:
		if m.PowerKey {
			b.pressPowerKey(ctx, r)
		}
		select {
		case <-r.ended:
			b.mu.Lock()
			r.poweredOff = true
			b.mu.Unlock()
			b.t.Logf("booter: %s has powered itself off", m.ID)
			return b.cloud.PoweredOff(ctx, m.ID)
		default:
		}
	}
	return nil
}

func (b *Booter) boot(ctx context.Context, h Machine) error {
	metadata, err := b.cloud.Metadata(ctx, h.ID)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.booted++
	n := b.booted
	b.mu.Unlock()
	m, err := b.lab.boot(ctx, n, b.platform, h, metadata)
	if err != nil {
		return err
	}
	b.t.Logf("booter: %s boots at %s", h.ID, h.Addresses)
	r := &running{machine: m, root: h.Root, has: map[string]bool{}}
	for _, a := range h.Addresses {
		r.has[a] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.machines[h.ID] = r
	return nil
}

func (b *Booter) kill(ctx context.Context, r *running) error {
	b.mu.Lock()
	r.dead = true
	b.mu.Unlock()
	b.t.Logf("booter: %s dies", r.id)
	// A machine that began to die dies.
	return r.stop(context.WithoutCancel(ctx))
}

func (b *Booter) stopAll(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.machines {
		if b.t.Failed() {
			b.t.Logf("console of %s:\n%s", r.id, r.console)
			b.t.Logf("journal of %s:\n%s", r.id, r.journal(ctx))
		}
		if !r.dead {
			if err := r.stop(ctx); err != nil {
				b.t.Error(err)
			}
		}
	}
}

// Console is what a machine has written to its terminal so far.
func (b *Booter) Console(id string) string {
	if r := b.get(id); r != nil {
		return r.console.String()
	}
	return ""
}

// Booted is how often a machine has booted.
func (b *Booter) Booted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.booted
}

// Running are the machines that run.
func (b *Booter) Running() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, r := range b.machines {
		if !r.dead && !r.poweredOff {
			ids = append(ids, id)
		}
	}
	return ids
}

// Command is a program inside of a machine that runs.
func (b *Booter) Command(ctx context.Context, id, name string, args ...string) (*exec.Cmd, error) {
	r := b.get(id)
	if r == nil || !slices.Contains(b.Running(), id) {
		return nil, fmt.Errorf("%s does not run", id)
	}
	return r.command(ctx, name, args...)
}
