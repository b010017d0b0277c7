package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

const (
	// haltLimit is how long to wait for a master to stop before its machine is deleted: a machine
	// polls its manifest every 30 s, and its master gets a minute to stop.
	haltLimit = 3 * time.Minute
	// RunLimit is how long a machine may take to apply a manifest: to poll it, download the program
	// and, on the first boot, to start.
	RunLimit = 15 * time.Minute
	// LookEvery is the interval between two reads of the machine's status.
	LookEvery = 5 * time.Second
)

// Halt asks the machine to stop its master, so that the master launches nothing more and closes its
// database, and waits until it has stopped. It does not wait for a machine that has stopped
// reporting, and gives up without an error after haltLimit, because the machine is deleted in any
// case.
func (c *Bucket) Halt(ctx context.Context) error {
	m, status, err := c.ReadBoth(ctx)
	if err != nil || m.Schema == "" {
		return err
	}
	if m.Phase != manifest.Stop {
		m.Phase, m.Fallback = manifest.Stop, false
		if err := c.Write(ctx, m, status); err != nil {
			return err
		}
	}
	if status.Schema == "" || c.Now().Sub(status.At) > 2*manifest.StatusEvery {
		return nil // no supervisor reports, so no process would stop the master
	}
	if m, err = c.Read(ctx); err != nil {
		return err
	}
	err = c.WaitUntilRuns(ctx, m, haltLimit, nil)
	if _, late := errors.AsType[*lateError](err); late {
		return nil
	}
	return err
}

// WaitUntilRuns waits until the machine reports that it has applied m. It returns a lateError after
// limit.
func (c *Bucket) WaitUntilRuns(ctx context.Context, m manifest.Manifest, limit time.Duration, tell func(string)) error {
	last := ""
	for waited := time.Duration(0); ; waited += LookEvery {
		s, err := c.ReadStatus(ctx)
		if err != nil {
			return err
		}
		if s.Reached(m) {
			return nil
		}
		what := describeStatus(s, m)
		if s.Generation >= m.Generation && s.Error != "" && m.Phase == manifest.Hold {
			return errors.New("the master's machine reports: " + s.Error)
		}
		if waited >= limit {
			return &lateError{c.Noun, what, limit}
		}
		if tell != nil && what != last {
			tell(what)
			last = what
		}
		if err := c.Pause(ctx, LookEvery); err != nil {
			return err
		}
	}
}

// describeStatus describes the progress of the machine to a user who waits for it.
func describeStatus(s manifest.Status, m manifest.Manifest) string {
	switch {
	case s.Schema == "":
		return "the master's machine is starting"
	case s.Generation < m.Generation:
		return "the master's machine has not seen the new configuration yet"
	case s.Error != "":
		return "the master's machine reports: " + s.Error
	default:
		return "the master is starting"
	}
}

// lateError reports that a machine has not applied its manifest in time.
type lateError struct {
	noun  string
	last  string
	limit time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("timed out after %s waiting for the master's machine; last state: %s", e.limit, e.last)
}

// Hint names the command that shows the logs of the machine.
func (e *lateError) Hint() string {
	return "check its logs with `det-deploy " + e.noun + " logs` or, while it boots, its console, which `det-deploy " + e.noun + " status` names; then run the same command again"
}
