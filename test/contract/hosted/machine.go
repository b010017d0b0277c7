package hostedtest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/hosted/probe"
	"github.com/det-deploy/det-deploy/installer/record"
)

// machine is what the master's machine keeps in mind.
type machine struct {
	mu     sync.Mutex   // guards what follows
	opened record.Store // once
	status string       // the version of what it last reported
}

// store is the control bucket, opened once.
func (m *machine) store(open func() record.Store) record.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened == nil {
		m.opened = open()
	}
	return m.opened
}

// report writes a status over the one before, as a real machine does: the store wants to
// know which that is.
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
	if cloud.KindOf(err) == cloud.Conflict { // a step that waits beside this one has just written it
		return nil
	}
	if err == nil {
		m.mu.Lock()
		m.status = version
		m.mu.Unlock()
	}
	return err
}

// Pause waits. Meanwhile the master's machine does what the manifest says.
func (s *Stage) Pause(ctx context.Context, d time.Duration) error {
	// Over a bad network the machine tries again at the next glance.
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

// ReadMasterFile reads a file of the master's machine as the manifest has it.
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

// master is one that is well.
type master struct{ s *Stage }

var _ probe.Master = master{}

func (master) Cluster(context.Context) (string, error)             { return Cluster, nil }
func (master) Login(context.Context, string, string) (bool, error) { return true, nil }
func (m master) Try(context.Context, probe.Trial) error            { m.s.Tried++; return nil }
func (master) Close()                                              {}
