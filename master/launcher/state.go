package launcher

import (
	"log/slog"
	"sync"

	"github.com/det-deploy/det-deploy/master/elastic"
)

// state is the state of a pool's machines. The goroutine of run owns it: it reads without a lock and
// changes the state under mu, under which other goroutines read.
type state struct {
	cfg    Config
	pool   Pool
	log    *slog.Logger
	meters meters

	// Used by run only: the ledger, and the machines that are gone or whose termination was accepted,
	// which are still to be reported to the scheduler.
	ledger  *ledger
	removed []elastic.Machine

	mu       sync.Mutex // guards the fields below
	fleet    *elastic.Fleet
	decision elastic.Decision
	fates    map[string]elastic.Fate
	problems map[string]string
}

func newState(cfg Config, p Pool) *state {
	return &state{
		cfg: cfg, pool: p, log: cfg.Log.With("pool", p.Name), meters: newMeters(p.Name),
		ledger:   newLedger(cfg.Store, p.Name),
		fleet:    elastic.New(p.Limits, p.Offers, p.Shape),
		problems: make(map[string]string),
	}
}

// recordChanges logs the transitions of machines and marks them as unsaved. The caller holds mu.
func (s *state) recordChanges(changes []elastic.Change) {
	for _, c := range changes {
		m := c.Machine
		s.ledger.unsaved.machines[m.ID] = true
		args := []any{"instance_id", m.ID, "type", m.Offer.Type, "zone", m.Offer.Zone, "price", m.Offer.Price}
		switch m.State {
		case elastic.Starting:
			s.log.Info("machine starting", args...)
		case elastic.Joined:
			if c.From == elastic.Starting {
				s.meters.boot.Observe(m.Joined.Sub(m.Launched).Seconds())
				s.log.Info("machine joined", append(args, "took", m.Joined.Sub(m.Launched))...)
			}
		case elastic.Lost:
			s.log.Warn("machine's agent lost", args...)
		case elastic.Draining:
			s.log.Info("draining machine", append(args, "reason", m.Reason)...)
		case elastic.Terminating:
			s.log.Info("terminating machine", append(args, "reason", m.Reason)...)
		case elastic.Gone:
			s.recordEnd(m, args)
		}
	}
}

// recordEnd records the end of a machine in the history.
func (s *state) recordEnd(m elastic.Machine, args []any) {
	ended := m.Accepted
	if ended.IsZero() {
		ended = m.Since
	}
	s.ledger.unsaved.ended[m.ID] = endedDoc{Machine: m, Ended: ended}
	s.removed = append(s.removed, m)
	if m.Cause.Planned() {
		s.log.Info("machine terminated", append(args, "reason", m.Reason)...)
	} else {
		s.log.Warn("machine terminated", append(args, "reason", m.Reason)...)
	}
}

// setProblem sets the error of an operation other than launching; nil clears it.
func (s *state) setProblem(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.problems, what)
		return
	}
	text := err.Error()
	if s.problems[what] != text {
		s.log.Warn("cannot reconcile machines", "err", err)
	}
	s.problems[what] = text
}
