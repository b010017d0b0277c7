package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

const (
	// haltLimit is how long a master may take to stop before its machine is taken
	// away under it: a machine looks every 30 s what it is to run, and its master
	// has a minute.
	haltLimit = 3 * time.Minute
	// RunLimit is how long a machine may take to run what the manifest says: to look,
	// fetch the program, and for a first boot to start at all.
	RunLimit = 15 * time.Minute
	// LookEvery is the pause between two looks at what the machine says.
	LookEvery = 5 * time.Second
)

// Halt asks the machine to stop its master, so that it launches nothing more and
// closes its database, and waits until it has. A machine that does not answer is
// not waited for long: it goes anyway.
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
		return nil // no supervisor reports, so no process would stop it
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

// WaitUntilRuns waits until the machine says that it runs what m wants.
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
			return errors.New("the master's machine says: " + s.Error)
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

// describeStatus is what a machine's status means for who waits.
func describeStatus(s manifest.Status, m manifest.Manifest) string {
	switch {
	case s.Schema == "":
		return "the master's machine starts"
	case s.Generation < m.Generation:
		return "the master's machine has not seen the new configuration yet"
	case s.Error != "":
		return "the master's machine says: " + s.Error
	default:
		return "the master starts"
	}
}

// lateError is a machine that does not run what the manifest says in time.
type lateError struct {
	noun  string
	last  string
	limit time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("waited %s for the master's machine; the last it was seen at: %s", e.limit, e.last)
}

// Hint says where more is to be learned.
func (e *lateError) Hint() string {
	return "look at its logs with `det-deploy " + e.noun + " logs`, or while it boots at its console, which `det-deploy " + e.noun + " status` names, and run the same command again"
}
