package hostedtest

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/hosted/probe"
	"github.com/det-deploy/det-deploy/installer/record"
)

// machine is the state of the master's machine.
type machine struct {
	mu     sync.Mutex   // guards the fields below
	opened record.Store // opened once
	status string       // version of the last report
}

// store returns the control bucket, which it opens once.
func (m *machine) store(open func() record.Store) record.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened == nil {
		m.opened = open()
	}
	return m.opened
}

// report overwrites the previous status like a real machine, with the version that the store
// requires for a conditional write.
func (m *machine) report(ctx context.Context, store record.Store, data []byte) error {
	m.mu.Lock()
	was := m.status
	m.mu.Unlock()
	version, err := store.Put(ctx, manifest.StatusKey, data, was)
	if kind := cloud.KindOf(err); kind == cloud.Conflict || kind == cloud.NotFound {
		was = ""
		if o, err := store.Get(ctx, manifest.StatusKey); err == nil {
			was = o.Version
		}
		version, err = store.Put(ctx, manifest.StatusKey, data, was)
	}
	if cloud.KindOf(err) == cloud.Conflict { // a concurrent step has just written it
		return nil
	}
	if err == nil {
		m.mu.Lock()
		m.status = version
		m.mu.Unlock()
	}
	return err
}

// Pause waits. Meanwhile the master's machine applies the manifest.
func (s *Stage) Pause(ctx context.Context, d time.Duration) error {
	// On a bad network the machine retries at its next poll.
	if err := s.act(ctx); err != nil && !s.Platform.Lenient(err) {
		return err
	}
	return s.Platform.Sleep(ctx, d)
}

func (s *Stage) act(ctx context.Context) error {
	if s.Silent {
		return nil
	}
	store := s.machine.store(s.Platform.Store)
	o, err := store.Get(ctx, manifest.Key)
	if err != nil {
		return nil //nolint:nilerr // there is nothing to do
	}
	m, err := manifest.Parse(o.Data)
	if err != nil {
		return err
	}
	data, err := json.Marshal(manifest.Status{
		Schema: manifest.StatusSchema, Generation: m.Generation, Version: m.Version, Phase: m.Phase,
		ConfigSHA256: m.Files[manifest.ConfigFile].SHA256, Ready: s.Ill == "" && m.Phase != manifest.Stop, Error: s.Ill, Instance: "i-1",
		At: time.Now(),
	})
	if err != nil {
		return err
	}
	return s.machine.report(ctx, store, data)
}

// ReadMasterFile returns a file that the manifest has for the master's machine.
func (s *Stage) ReadMasterFile(ctx context.Context, path string) ([]byte, error) {
	store := s.Platform.Store()
	o, err := store.Get(ctx, manifest.Key)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(o.Data)
	if err != nil {
		return nil, err
	}
	o, err = store.Get(ctx, m.Files[path].Key)
	return o.Data, err
}

// master is a healthy master.
type master struct{ s *Stage }

var _ probe.Master = master{}

func (m master) Cluster(context.Context) (string, error)           { return cmp.Or(m.s.Answers, Cluster), nil }
func (master) Login(context.Context, string, string) (bool, error) { return true, nil }
func (m master) Try(context.Context, probe.Trial) error            { m.s.Tried++; return nil }
func (master) Close()                                              {}
