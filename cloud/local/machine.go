package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/internal/process"
)

// Place is the directory of one machine.
type Place string

// ID returns the machine's ID.
func (p Place) ID() cloud.InstanceID { return cloud.InstanceID(filepath.Base(string(p))) }

// Pool returns the machine's pool, or "" if the directory name is not a valid pool.
func (p Place) Pool() string {
	pool, err := url.PathUnescape(filepath.Base(filepath.Dir(string(p))))
	if err != nil {
		return ""
	}
	return pool
}

// Data returns the data directory of the agent.
func (p Place) Data() string { return filepath.Join(string(p), "data") }

// Secret returns the file of the machine's secret.
func (p Place) Secret() string { return filepath.Join(string(p), "secret") }

// AgentYAML returns the configuration file of the agent.
func (p Place) AgentYAML() string { return filepath.Join(string(p), "agent.yaml") }

func (p Place) recordFile() string { return filepath.Join(string(p), "machine.json") }
func (p Place) logFile() string    { return filepath.Join(string(p), "log") }
func (p Place) pidFile() string    { return filepath.Join(string(p), "pid") }
func (p Place) lockFile() string   { return filepath.Join(string(p), "alive") }

// record is the record of one machine. Its state follows from its process and its data:
//
//	made ──▶ process alive ──▶ ended, being swept ──▶ data deleted: terminated
//	            starting, then running    stopping
type record struct {
	ID       cloud.InstanceID `json:"id"`
	Offer    cloud.Offer      `json:"offer"`
	Token    string           `json:"token"`
	Launched time.Time        `json:"launched"`
	Process  process.Identity `json:"process"`
	// Ended is the time at which it was terminated, or at which its exit was detected.
	Ended  time.Time `json:"ended,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Sweeper is the process that removes the remains of its tasks.
	Sweeper process.Identity `json:"sweeper,omitzero"`
}

func (p *Instances) readMachine(id cloud.InstanceID) (record, bool, error) {
	if !isID(string(id)) {
		return record{}, false, nil
	}
	place := p.placeOf(id)
	return readJSON[record](place.recordFile(), "stop the processes of "+string(place)+" and delete the file: the pool then launches another machine if it needs one")
}

func (p *Instances) saveRecord(m *record) error { return writeJSON(p.placeOf(m.ID).recordFile(), m) }

// makeMachine creates a machine, or resumes its creation.
func (p *Instances) makeMachine(id cloud.InstanceID, made promise) error {
	m, found, err := p.readMachine(id)
	if err != nil || found && (m.Process.PID != 0 || !m.Ended.IsZero()) {
		return err
	}
	place := p.placeOf(id)
	if !found {
		m = record{ID: id, Offer: made.Launch.Offer, Token: made.Launch.Token, Launched: made.At}
		if err := p.writeMachineFiles(place); err != nil {
			return fmt.Errorf("create machine %s: %w", id, err)
		}
		if err := p.saveRecord(&m); err != nil {
			return fmt.Errorf("create machine %s: %w", id, err)
		}
	}
	if m.Process, err = p.startMachine(place); err != nil {
		return fmt.Errorf("start machine %s: %w", id, err)
	}
	p.cfg.Log.Info("started machine", "instance_id", id, "pool", p.cfg.Pool, "pid", m.Process.PID)
	return p.saveRecord(&m)
}

// writeMachineFiles writes the files that a machine needs to start.
func (p *Instances) writeMachineFiles(place Place) error {
	if err := os.MkdirAll(place.Data(), 0o711); err != nil {
		return err
	}
	yaml, err := p.cfg.Agent(place)
	if err != nil {
		return err
	}
	secret := machine.NewSecret(string(place.ID()))
	return errors.Join(
		os.WriteFile(place.Secret(), secret.Text(), 0o600),
		os.WriteFile(place.AgentYAML(), yaml, 0o600),
	)
}

// advanceMachine detects changes of a machine and performs the next step of its termination.
func (p *Instances) advanceMachine(m *record) error {
	m.Process.Reap()
	m.Sweeper.Reap()
	switch {
	case m.Ended.IsZero() && m.Process.PID == 0, m.Ended.IsZero() && m.Process.Alive():
		return nil
	case m.Ended.IsZero():
		return p.endMachine(m, "its agent has exited")
	case p.isForgotten(*m):
		return os.RemoveAll(string(p.placeOf(m.ID)))
	case p.hasData(m.ID) && !m.Sweeper.Alive():
		return p.sweepMachine(m)
	}
	return nil
}

// endMachine kills a machine without a graceful shutdown, like a power failure. A separate process
// then removes the remains of its tasks, which may take a moment.
func (p *Instances) endMachine(m *record, reason string) error {
	if m.Ended.IsZero() {
		m.Ended, m.Reason = time.Now().UTC(), reason
		if err := p.saveRecord(m); err != nil {
			return err
		}
		p.cfg.Log.Info("ended machine", "instance_id", m.ID, "pool", p.cfg.Pool, "reason", reason)
	}
	if m.Process.PID == 0 { // a master was stopped before it recorded the process
		m.Process, _ = p.adoptProcess(p.placeOf(m.ID))
	}
	if err := m.Process.KillGroup(); err != nil {
		return err
	}
	m.Process.Reap()
	if p.hasData(m.ID) && !m.Sweeper.Alive() {
		return p.sweepMachine(m)
	}
	return nil
}

func (p *Instances) sweepMachine(m *record) error {
	var err error
	if m.Sweeper, err = startSweep(p.cfg.Program, p.placeOf(m.ID)); err != nil {
		return fmt.Errorf("sweep machine %s: %w", m.ID, err)
	}
	return p.saveRecord(m)
}

func (p *Instances) hasData(id cloud.InstanceID) bool {
	_, err := os.Stat(p.placeOf(id).Data())
	return !errors.Is(err, fs.ErrNotExist)
}

func (p *Instances) isForgotten(m record) bool {
	return !m.Ended.IsZero() && !p.hasData(m.ID) && time.Since(m.Ended) > p.cfg.Remember
}

func (p *Instances) describeMachine(m record) cloud.Instance {
	i := cloud.Instance{ID: m.ID, Offer: m.Offer, Token: m.Token, Launched: m.Launched, Reason: m.Reason}
	switch {
	case m.Ended.IsZero() && time.Since(m.Launched) < p.cfg.StartDelay:
		i.State = cloud.InstanceStarting
	case m.Ended.IsZero():
		i.State = cloud.InstanceRunning
	case p.hasData(m.ID):
		i.State = cloud.InstanceStopping
	default:
		i.State = cloud.InstanceTerminated
	}
	return i
}
