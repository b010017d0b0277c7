// Package local runs machines as local processes, to try out and demonstrate an elastic resource
// pool without a cloud. A machine is an agent in its own session: it keeps running when its master
// is killed, and a restarted master finds it again.
//
// All state is in files below one directory:
//
//	ROOT/POOL/launches/HASH.json   machines of a launch token, written before they are created
//	ROOT/POOL/ID/machine.json      one machine: its process, and its end
//	            /agent.yaml        configuration of its agent
//	            /secret            secret with which it proves its identity
//	            /log               console output
//	            /data              data of its agent; the machine is gone once it is deleted
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Type is the only machine type.
const Type = "process"

// Offer returns the only offer.
func Offer() cloud.Offer { return cloud.Offer{Type: Type, Price: cloud.OnDemand} }

// Config configures the machines of one pool.
type Config struct {
	// Root is the directory of the machines of all pools.
	Root string
	Pool string
	// Program is det-deploy's executable.
	Program string
	// Agent returns the agent.yaml of a machine.
	Agent func(Place) ([]byte, error)
	// StartDelay is the simulated boot time.
	StartDelay time.Duration
	// FailureRate is the share of machines, 0 to 1, that are not launched for lack of capacity.
	FailureRate float64
	// Random returns a number between 0 and 1. Nil uses math/rand.
	Random func() float64
	// Remember is the time for which an ended machine is listed and its log is kept. Zero means one
	// hour, as on EC2.
	Remember time.Duration
	Log      *slog.Logger
}

// Instances implements cloud.Instances for one pool. Only one master may use a pool at a time.
type Instances struct {
	cfg Config
	mu  sync.Mutex // serializes changes of the directory
}

var (
	_ cloud.Instances = (*Instances)(nil)
	_ cloud.Console   = (*Instances)(nil)
)

// Open returns the machines of a pool, including those launched by an earlier master.
func Open(c Config) *Instances {
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Remember == 0 {
		c.Remember = time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Instances{cfg: c}
}

func (p *Instances) poolDir() string { return filepath.Join(p.cfg.Root, url.PathEscape(p.cfg.Pool)) }

func (p *Instances) placeOf(id cloud.InstanceID) Place {
	return Place(filepath.Join(p.poolDir(), string(id)))
}

// Launch implements cloud.Instances.
func (p *Instances) Launch(ctx context.Context, l cloud.Launch) ([]cloud.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkLaunch(l); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	made, found, err := p.readPromises(l.Token)
	if err != nil {
		return nil, wrapRefusal(cloud.Unavailable, "launch", err)
	}
	if found && made.Launch != l {
		return nil, wrapRefusal(cloud.Invalid, "launch", errors.New("its token was used for another launch"))
	}
	if !found {
		granted := p.drawGranted(l.Count)
		if granted == 0 {
			return nil, wrapRefusal(cloud.NoCapacity, "launch", fmt.Errorf("simulated by failure_rate %v of the pool's provider", p.cfg.FailureRate))
		}
		if made, err = p.writePromise(l, granted); err != nil {
			return nil, wrapRefusal(cloud.Unavailable, "launch", err)
		}
	}
	if err := p.keepPromises(made); err != nil {
		return nil, wrapRefusal(cloud.Ambiguous, "launch", err)
	}
	return p.readInstances(made.IDs)
}

func checkLaunch(l cloud.Launch) error {
	switch {
	case l.Token == "" || len(l.Token) > 64:
		return wrapRefusal(cloud.Invalid, "launch", errors.New("it needs a token of at most 64 characters"))
	case l.Count < 1:
		return wrapRefusal(cloud.Invalid, "launch", fmt.Errorf("the count must be at least 1 (is %d)", l.Count))
	case l.Offer != Offer():
		return wrapRefusal(cloud.Invalid, "launch", fmt.Errorf("offer %+v is not supported, only %+v", l.Offer, Offer()))
	}
	return nil
}

// drawGranted returns how many of the requested machines are launched, at random.
func (p *Instances) drawGranted(count int) int {
	granted := 0
	for range count {
		if p.cfg.Random() >= p.cfg.FailureRate {
			granted++
		}
	}
	return granted
}

// Terminate implements cloud.Instances.
func (p *Instances) Terminate(ctx context.Context, ids []cloud.InstanceID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, id := range ids {
		m, found, err := p.readMachine(id)
		if err == nil && found {
			err = p.endMachine(&m, "terminated by its master")
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return wrapRefusal(cloud.Unavailable, "terminate", err)
	}
	return nil
}

// List implements cloud.Instances. It also resumes the operations of an earlier master and detects
// machines that have exited.
func (p *Instances) List(ctx context.Context) ([]cloud.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.resumeLaunches(); err != nil {
		return nil, wrapRefusal(cloud.Unavailable, "list", err)
	}
	entries, err := os.ReadDir(p.poolDir())
	if err != nil && !os.IsNotExist(err) {
		return nil, wrapRefusal(cloud.Unavailable, "list", err)
	}
	var ids []cloud.InstanceID
	for _, e := range entries {
		if isID(e.Name()) {
			ids = append(ids, cloud.InstanceID(e.Name()))
		}
	}
	return p.readInstances(ids)
}

// readInstances returns the state of machines, sorted. It skips those without a record.
func (p *Instances) readInstances(ids []cloud.InstanceID) ([]cloud.Instance, error) {
	out := make([]cloud.Instance, 0, len(ids))
	var errs []error
	for _, id := range ids {
		m, found, err := p.readMachine(id)
		if err == nil && found {
			err = p.advanceMachine(&m)
		}
		if err == nil && found && !p.isForgotten(m) {
			out = append(out, p.describeMachine(m))
		}
		errs = append(errs, err)
	}
	slices.SortFunc(out, func(a, b cloud.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	if err := errors.Join(errs...); err != nil {
		return nil, wrapRefusal(cloud.Unavailable, "list", err)
	}
	return out, nil
}

// consoleBytes is the amount of a machine's log that Console returns. EC2 returns 64 KiB.
const consoleBytes = 16 << 10

// Console implements cloud.Console.
func (p *Instances) Console(ctx context.Context, id cloud.InstanceID) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !isID(string(id)) {
		return "", wrapRefusal(cloud.NotFound, "console", fmt.Errorf("there is no machine %q", id))
	}
	text, err := os.ReadFile(p.placeOf(id).logFile())
	if os.IsNotExist(err) {
		return "", wrapRefusal(cloud.NotFound, "console", fmt.Errorf("there is no machine %s", id))
	}
	if err != nil {
		return "", wrapRefusal(cloud.Unavailable, "console", err)
	}
	return string(text[max(0, len(text)-consoleBytes):]), nil
}

func wrapRefusal(k cloud.Kind, op string, err error) error {
	return &cloud.Error{Kind: k, Op: "local:" + op, Err: err}
}
