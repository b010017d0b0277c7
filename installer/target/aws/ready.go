package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Endpoint is where a cluster's master answers, and what to trust there.
type Endpoint struct {
	URL string
	// CA is the certificates that sign the master's, PEM.
	CA []byte
	// Name is what the certificate is for, where that is not URL's host.
	Name string
}

// answerLimit is how long a master that its machine says is well may take to
// answer from here: a security group's rule takes a moment to count.
const answerLimit = 2 * time.Minute

// Endpoint looks where the master answers. It is a refusal of kind NotFound while
// the cluster has no address.
func (t *Target) Endpoint(ctx context.Context) (Endpoint, error) {
	address := &infra.Address{In: t.cluster, Name: "master"}
	var e Endpoint
	var trustErr error // counts less than that there is no address
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, _, err := address.Find(both)
		return err
	})
	g.Go(func() error {
		e, trustErr = t.trust(both)
		return nil
	})
	if err := g.Wait(); err != nil {
		return Endpoint{}, err
	}
	if address.PublicIP() == "" {
		return Endpoint{}, &cloud.Error{
			Kind: cloud.NotFound, Op: "find the master's address", Fix: "run `det-deploy aws up` to finish the cluster",
			Err: errors.New("the cluster has none"),
		}
	}
	e.URL = fmt.Sprintf("https://%s:%d", address.PublicIP(), masterPort)
	return e, trustErr
}

// trust is what to trust where the master answers.
func (t *Target) trust(ctx context.Context) (Endpoint, error) {
	if t.Spec.TLS.Own() {
		return Endpoint{CA: t.ownCA(), Name: t.Spec.TLS.Name}, nil
	}
	ca, err := (&leaf{ca: t.authoritySecret()}).authority(ctx)
	return Endpoint{CA: ca}, err
}

// Ready waits until the master runs what it was told, answers over TLS as this
// cluster's, and has had a task run.
func (t *Target) Ready(ctx context.Context, tell func(string)) error {
	if t.NoWait {
		return installer.ErrNotAwaited
	}
	m, err := t.readManifest(ctx)
	if err != nil {
		return err
	}
	if m.Schema == "" {
		return errors.New("wait for the master: its machine is told to run nothing")
	}
	if m.Phase == manifest.Serve {
		if err := t.reached(ctx, m, turnLimit, tell); err != nil {
			return err
		}
	}
	master, err := t.answer(ctx, tell)
	if err != nil {
		return err
	}
	defer master.Close()
	if t.NoVerify {
		return nil
	}
	return t.verify(ctx, master, tell)
}

// answer waits until the master answers, and is this cluster's.
func (t *Target) answer(ctx context.Context, tell func(string)) (Master, error) {
	e, err := t.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	master, err := t.Ask(e)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += glance {
		name, err := master.Cluster(ctx)
		switch {
		case err == nil && name == t.Spec.Cluster:
			return master, nil
		case err == nil:
			master.Close()
			return nil, fmt.Errorf("ask the master at %s: it is the master of cluster %q and not of %q", e.URL, name, t.Spec.Cluster)
		case waited >= answerLimit:
			master.Close()
			return nil, &unreachableError{e.URL, err}
		}
		tell("the master's machine is well; waiting for " + e.URL)
		if err := t.Pause(ctx, glance); err != nil {
			master.Close()
			return nil, err
		}
	}
}

// unreachableError is a master that is well and does not answer from here.
type unreachableError struct {
	url string
	err error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("the master's machine says that it is well, and %s does not answer from here: %v", e.url, e.err)
}

func (e *unreachableError) Unwrap() error { return e.err }

// Hint names what most likely stands between.
func (e *unreachableError) Hint() string {
	return "add this machine's address to the admitted ones (--inbound-cidr takes the whole list), or run the command from a machine that is admitted"
}

// verify runs a small task in the pool of tasks without slots. A password that was
// changed since is not known here: then there is nobody to run it as.
func (t *Target) verify(ctx context.Context, master Master, tell func(string)) error {
	password, err := t.firstPassword(ctx)
	if err != nil {
		return err
	}
	ok, err := master.Login(ctx, firstUser, password.Reveal())
	if err != nil {
		return err
	}
	if !ok {
		tell("the password of " + firstUser + " was changed, so no task was run to try the cluster")
		return nil
	}
	tell("running a task in pool " + spec.AuxPool)
	// A machine for it has to start, and may have to wait for another.
	limit := time.Duration(t.Spec.AuxPool.StartingPeriod) + 10*time.Minute
	return master.Try(ctx, Trial{Pool: spec.AuxPool, Limit: limit, Pause: t.Pause, Tell: tell})
}
