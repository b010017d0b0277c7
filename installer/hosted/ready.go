package hosted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
	"github.com/det-deploy/det-deploy/installer/hosted/probe"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// answerLimit is how long a healthy master may be unreachable from this computer, because new
// firewall rules take effect with a delay.
const answerLimit = 2 * time.Minute

// Endpoint returns the address of the master. It returns an error of kind NotFound if the cluster
// has no address.
func (c *Cluster) Endpoint(ctx context.Context) (probe.Endpoint, error) {
	address := c.Address()
	var e probe.Endpoint
	var trustErr error // the error of a missing address takes precedence
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, _, err := address.Find(both)
		return err
	})
	g.Go(func() error {
		e, trustErr = c.trustedEndpoint(both)
		return nil
	})
	if err := g.Wait(); err != nil {
		return probe.Endpoint{}, err
	}
	if address.PublicIP() == "" {
		return probe.Endpoint{}, &cloud.Error{
			Kind: cloud.NotFound, Op: "find the master's address", Fix: "run `det-deploy " + c.Words.Noun + " up` to finish the cluster",
			Err: errors.New("the cluster has none"),
		}
	}
	e.URL = fmt.Sprintf("https://%s:%d", address.PublicIP(), MasterPort)
	return e, trustErr
}

// trustedEndpoint returns the CA and server name with which to verify the master.
func (c *Cluster) trustedEndpoint(ctx context.Context) (probe.Endpoint, error) {
	if c.Common.TLS.Own() {
		return probe.Endpoint{CA: c.Common.TLS.Authority(), Name: c.Common.TLS.Name}, nil
	}
	ca, err := (&leaf{ca: c.authoritySecret()}).authorityPEM(ctx)
	return probe.Endpoint{CA: ca}, err
}

// Ready waits until the master runs the manifest, answers over TLS as this cluster's master, and
// has run a test task.
func (c *Cluster) Ready(ctx context.Context, tell func(string)) error {
	if c.NoWait {
		return installer.ErrNotAwaited
	}
	m, err := c.Manifests.Current(ctx)
	if err != nil {
		return err
	}
	if m.Schema == "" {
		return errors.New("cannot wait for the master: it has no manifest")
	}
	var e probe.Endpoint
	var password secret.Value
	g, beside := errgroup.WithContext(ctx)
	g.Go(func() error {
		if m.Phase != manifest.Serve {
			return nil
		}
		return c.Manifests.WaitUntilRuns(beside, m, manifests.RunLimit, tell)
	})
	g.Go(func() (err error) {
		e, err = c.Endpoint(beside)
		return err
	})
	g.Go(func() (err error) {
		if !c.NoVerify {
			password, err = c.firstPassword(beside)
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	master, err := c.waitUntilAnswers(ctx, e, tell)
	if err != nil {
		return err
	}
	defer master.Close()
	if c.NoVerify {
		return nil
	}
	return c.runTrial(ctx, master, password, tell)
}

// waitUntilAnswers waits until the master answers, and verifies that it is this cluster's.
func (c *Cluster) waitUntilAnswers(ctx context.Context, e probe.Endpoint, tell func(string)) (probe.Master, error) {
	master, err := c.Ask(e)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += manifests.LookEvery {
		name, err := master.Cluster(ctx)
		switch {
		case err == nil && name == c.Common.Cluster:
			return master, nil
		case err == nil:
			master.Close()
			return nil, fmt.Errorf("the master at %s belongs to cluster %q, not %q", e.URL, name, c.Common.Cluster)
		case waited >= answerLimit:
			master.Close()
			return nil, &unreachableError{e.URL, c.Words.Inbound, err}
		}
		tell("the master's machine is healthy; waiting for " + e.URL)
		if err := c.Pause(ctx, manifests.LookEvery); err != nil {
			master.Close()
			return nil, err
		}
	}
}

// unreachableError reports that a healthy master does not answer from this computer.
type unreachableError struct {
	url     string
	inbound string
	err     error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("the master's machine is healthy, but %s does not answer from here: %v", e.url, e.err)
}

func (e *unreachableError) Unwrap() error { return e.err }

// Hint names the most likely cause.
func (e *unreachableError) Hint() string {
	return "add this machine's address to the admitted ranges (" + e.inbound + " replaces the whole list), or run the command from an admitted machine"
}

// runTrial runs a small task in the pool of tasks without slots. It skips the task if the password
// has been changed, because there is no other user to run it as.
func (c *Cluster) runTrial(ctx context.Context, master probe.Master, password secret.Value, tell func(string)) error {
	ok, err := master.Login(ctx, firstUser, password.Reveal())
	if err != nil {
		return err
	}
	if !ok {
		tell("the password of " + firstUser + " has been changed; skipping the test task")
		return nil
	}
	tell("running a test task in pool " + spec.AuxPool)
	// The task needs a new machine, and the launch may have to wait for another.
	limit := time.Duration(c.Aux.StartingPeriod) + 10*time.Minute
	return master.Try(ctx, probe.Trial{Noun: c.Words.Noun, Pool: spec.AuxPool, Limit: limit, Pause: c.Pause, Tell: tell})
}
