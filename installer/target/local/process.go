package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// The limits of waiting for processes.
const (
	// startLimit is how long a master may take to answer, because it may have to migrate an old
	// database.
	startLimit = 60 * time.Second
	// stopLimit is how long a process may take to end. The supervisor kills it after 20 s.
	stopLimit = 30 * time.Second
	// maxDeaths is how often a process may die while Create waits for it. A process that loses
	// a race for a port starts the next time, but one that cannot read its configuration never
	// does.
	maxDeaths = 3
)

// supervisor is the process that restarts the others.
type supervisor struct {
	base
	place Place
}

func (s *supervisor) Find(context.Context) (resource.Found, []resource.Drift, error) {
	d := s.place.Processes()
	if !d.Exists() {
		return resource.Found{}, nil, nil
	}
	f := foundFile(s.kind, s.place.pathOf("run"), "")
	if _, alive := d.Holder(); !alive {
		return f, []resource.Drift{{Path: "state", Have: "not running", Want: "running"}}, nil
	}
	return f, nil, nil
}

func (s *supervisor) Create(ctx context.Context) error {
	d := s.place.Processes()
	if _, alive := d.Holder(); alive {
		return nil
	}
	for _, dir := range []string{s.place.pathOf("units"), s.place.pathOf("run")} {
		if err := s.h.makeDirectory(ctx, dir); err != nil {
			return err
		}
	}
	log := s.place.Log("supervisor")
	args := []string{"local", "supervise", "--directory", string(s.place)}
	if err := s.h.startDetached(ctx, log, args...); err != nil {
		return err
	}
	if !waitWanted(ctx, startLimit, func() bool { _, alive := d.Holder(); return alive }) {
		if err := wait.Unwanted(ctx); err != nil {
			return err
		}
		return wrapRefusal("start", "the supervisor", fmt.Errorf("it does not start; last log line: %s (%s)", lastLogLine(log), log))
	}
	return nil
}

func (s *supervisor) Update(ctx context.Context, _ []resource.Drift) error { return s.Create(ctx) }

// replaceRunning makes a supervisor of the new program take over the processes of the old one,
// which keep running when that is killed.
func (s *supervisor) replaceRunning(ctx context.Context) error {
	d := s.place.Processes()
	if id, alive := d.Holder(); alive {
		if err := s.h.signalProcess(ctx, id, syscall.SIGKILL); err != nil {
			return err
		}
		if !waitUntil(ctx, stopLimit, func() bool { return !id.Alive() }) {
			return wrapRefusal("stop", "the supervisor", errors.New("it does not end, even when killed"))
		}
	}
	return s.Create(ctx)
}

func (s *supervisor) Delete(ctx context.Context) error {
	d := s.place.Processes()
	if id, alive := d.Holder(); alive {
		if err := s.h.endProcess(ctx, id); err != nil {
			return err
		}
	}
	for _, dir := range []string{s.place.pathOf("units"), s.place.pathOf("run")} {
		if err := s.h.removeAll(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// process is the master or an agent.
type process struct {
	base
	place Place
	unit  string
	// program is the cluster's copy of the program.
	program string
	args    []string
	// config returns the configuration that the process reads from file when it starts, and compare the
	// settings in which two of them differ.
	config  func(context.Context) ([]byte, error)
	file    string
	compare func(have, want []byte) []document.Difference
	// certs are the certificates it uses, or nil, and certFile is the file of them that it reads.
	certs    *certificates
	certFile string
	// isPortTaken reports whether another program uses the port of the process and would answer in
	// its place. It is nil if the process has no port.
	isPortTaken func(context.Context) bool
	// prepare is called before the first start. It may be nil.
	prepare func(context.Context) error
	// unhealthy returns the problem of a running process, or "". It is nil if running suffices.
	unhealthy func(context.Context) string
}

func (p *process) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	d := p.place.Processes()
	var drift []resource.Drift
	u, wanted, err := d.Unit(p.unit)
	if drift, err = damageDrift(drift, err); err != nil {
		return resource.Found{}, nil, wrapRefusal("read unit", p.unit, err)
	}
	st, seen, err := d.Status(p.unit)
	if drift, err = damageDrift(drift, err); err != nil {
		return resource.Found{}, nil, wrapRefusal("read status", p.unit, err)
	}
	alive := seen && st.Alive()
	if _, runs := d.UnitHolder(p.unit); !wanted && !alive && !runs && drift == nil {
		return resource.Found{}, nil, nil
	}
	f := resource.Found{Kind: p.kind, ID: p.unit, Name: p.unit}
	generation, err := p.generationOf(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	stale, err := p.staleDrift(ctx, u, generation)
	if err != nil {
		return resource.Found{}, nil, err
	}
	drift = append(drift, stale...)
	if p.certs != nil && p.certs.renew {
		drift = append(drift, resource.Drift{Path: "certificate", Have: "in use", Want: "the renewed one"})
	}
	if !alive {
		drift = append(drift, resource.Drift{Path: "state", Have: "not running", Want: "running"})
	} else if p.unhealthy != nil && len(drift) == 0 { // otherwise it is restarted anyway
		if ill := p.unhealthy(ctx); ill != "" {
			drift = append(drift, resource.Drift{Path: "health", Have: ill, Want: "answers"})
		}
	}
	return f, drift, nil
}

// damageDrift returns drift for a damaged file, which can be rewritten, and err otherwise.
func damageDrift(drift []resource.Drift, err error) ([]resource.Drift, error) {
	if d, ok := errors.AsType[*atomicfile.DamagedError](err); ok {
		return append(drift, resource.Drift{Path: d.Path, Have: d.Err.Error(), Want: "rewritten"}), nil
	}
	return drift, err
}

func (p *process) Create(ctx context.Context) error {
	if p.prepare != nil {
		if err := p.prepare(ctx); err != nil {
			return err
		}
	}
	return p.startUnit(ctx)
}

// Update restarts the process, also for drift of its health alone.
func (p *process) Update(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		if d.Path == "health" {
			if err := p.place.Processes().Drop(p.unit); err != nil {
				return wrapRefusal("remove unit", p.unit, err)
			}
			if err := p.stopProcess(ctx); err != nil {
				return err
			}
		}
	}
	return p.startUnit(ctx)
}

func (p *process) startUnit(ctx context.Context) error {
	return p.startUnitAnd(ctx, p.comesUp)
}

// startUnitAnd starts the process and calls await with its generation. It returns an error if await
// returns a problem.
func (p *process) startUnitAnd(ctx context.Context, await func(context.Context, string) string) error {
	if p.isPortTaken != nil && p.isPortTaken(ctx) {
		return wrapRefusal("start", p.unit, errors.New("its port is in use by another program: choose another one with --port"))
	}
	generation, err := p.generationOf(ctx)
	if err != nil {
		return err
	}
	d := p.place.Processes()
	log := p.place.Log(p.unit)
	u := supervise.Unit{Name: p.unit, Program: p.program, Args: p.args, Log: log, Generation: generation}
	if err := p.h.putUnit(ctx, d, u); err != nil {
		return err
	}
	if err := p.wakeSupervisor(ctx); err != nil {
		return err
	}
	if ill := await(ctx, generation); ill != "" {
		if err := wait.Unwanted(ctx); err != nil {
			return err
		}
		return wrapRefusal("start", p.unit, fmt.Errorf("%s; last log line: %s (%s)", ill, lastLogLine(log), log))
	}
	return nil
}

// comesUp waits until the process runs and is healthy, or returns its problem.
func (p *process) comesUp(ctx context.Context, generation string) string {
	return p.awaitUnit(ctx, generation, startLimit, func(ctx context.Context) (ill string, final bool) {
		if p.unhealthy == nil {
			return "", true
		}
		ill = p.unhealthy(ctx)
		return ill, ill == ""
	})
}

// awaitUnit calls ask for a running process until its answer is final. It gives up early if the
// process dies repeatedly.
func (p *process) awaitUnit(
	ctx context.Context, generation string, limit time.Duration, ask func(context.Context) (ill string, final bool),
) string {
	ill, deaths, last := "", 0, supervise.Identity{}
	waitWanted(ctx, limit, func() bool {
		st, _, err := p.place.Processes().Status(p.unit)
		alive := err == nil && st.Alive()
		if st.Generation == generation && !alive && st.Exit != "" && st.Identity != last {
			deaths, last = deaths+1, st.Identity
		}
		final := false
		if !alive || st.Generation != generation {
			ill = "it does not stay up"
		} else {
			ill, final = ask(ctx)
		}
		return final || deaths >= maxDeaths
	})
	return ill
}

func (p *process) Delete(ctx context.Context) error {
	if err := p.h.putUnit(ctx, p.place.Processes(), supervise.Unit{Name: p.unit}); err != nil {
		return err
	}
	return p.stopProcess(ctx)
}

// stopProcess ends a process whose unit was deleted: the supervisor does, or this process if no
// supervisor runs.
func (p *process) stopProcess(ctx context.Context) error {
	d := p.place.Processes()
	st, seen, err := d.Status(p.unit)
	if err != nil {
		return wrapRefusal("read status", p.unit, err)
	}
	if err := p.wakeSupervisor(ctx); err != nil {
		return err
	}
	if _, alive := d.Holder(); !alive && seen {
		if err := p.h.endProcess(ctx, st.Identity); err != nil {
			return err
		}
	} else if !waitUntil(ctx, stopLimit, func() bool {
		_, seen, err := d.Status(p.unit)
		return err == nil && !seen
	}) {
		return wrapRefusal("stop", p.unit, errors.New("it does not end"))
	}
	return p.endHolder(ctx)
}

// endHolder ends a process that its supervisor was killed too soon to store, and removes the status.
func (p *process) endHolder(ctx context.Context) error {
	d := p.place.Processes()
	if id, runs := d.UnitHolder(p.unit); runs {
		if err := p.h.endProcess(ctx, id); err != nil {
			return err
		}
	}
	return wrapRefusal("remove status", p.unit, d.Forget(p.unit))
}

func (p *process) wakeSupervisor(ctx context.Context) error {
	if id, alive := p.place.Processes().Holder(); alive {
		return p.h.signalProcess(ctx, id, syscall.SIGHUP)
	}
	return nil
}

func lastLogLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLine(data, errors.New("nothing"))
}
