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

// pollInterval is the interval at which the booter polls the cloud.
const pollInterval = 200 * time.Millisecond

// Booter boots the machines of an emulated cloud.
type Booter struct {
	t        testing.TB
	lab      *Lab
	cloud    Cloud
	platform Platform

	// mu guards the fields below, and whether machines are dead.
	mu       sync.Mutex
	machines map[string]*running
	booted   int
}

// running is a booted machine. A dead one is kept for its console.
type running struct {
	*machine
	root string
	dead bool
	// poweredOff reports whether the cloud was notified.
	poweredOff bool
	// has holds the addresses and disks that were attached since its boot.
	has map[string]bool
	// shown is the length of the console output that the cloud has received. Pressed reports
	// whether the power key was pressed. Both are used by turn only.
	shown   int
	pressed bool
}

// Start boots all machines that the cloud launches, until the test ends. The cloud's server must
// run in the lab.
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
	tick := time.NewTicker(pollInterval)
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

// turn makes the running machines match those of the cloud.
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

// showConsole passes new console output to a cloud that implements ConsoleTaker.
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

// unlisted returns the running machines that the cloud no longer lists.
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
	// Once started, killing a machine is not canceled.
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

// Console returns the console output of a machine.
func (b *Booter) Console(id string) string {
	if r := b.get(id); r != nil {
		return r.console.String()
	}
	return ""
}

// Booted returns the number of boots.
func (b *Booter) Booted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.booted
}

// Running returns the IDs of the running machines.
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

// Command returns a command that runs inside of a machine.
func (b *Booter) Command(ctx context.Context, id, name string, args ...string) (*exec.Cmd, error) {
	r := b.get(id)
	if r == nil || !slices.Contains(b.Running(), id) {
		return nil, fmt.Errorf("%s does not run", id)
	}
	return r.command(ctx, name, args...)
}
