package k8s

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// clusterContext is the context of the cluster, with the session of an older one that is the
// same.
func (c *opened) clusterContext(e target.Endpoint) (contexts.Context, error) {
	k, err := cluster.Remembered(c.w.Streams, c.ID())
	master := e.URL
	if master == "" {
		master = e.Forwarded() // where the line that is printed makes it answer
	}
	if k.Master != master || k.Namespace != c.Namespace() || k.KubeContext != c.Kube.Context() {
		k.Token = "" // of another cluster that had this id
	}
	k.Name, k.Master, k.CA = c.ID(), master, string(e.CA)
	k.Platform, k.KubeContext, k.Namespace = Platform{}.Name(), c.Kube.Context(), c.Namespace()
	return k, err
}

// logIn begins a session with the first password, unless there is a good one.
func (c *opened) logIn(ctx context.Context, k contexts.Context) (contexts.Context, error) {
	return cluster.LogIn(ctx, k, func(ctx context.Context) (user, password string, found bool, err error) {
		admin, err := c.Target.Credentials(ctx)
		if kind := cloud.KindOf(err); kind == cloud.NotFound || kind == cloud.Denied {
			return "", "", false, nil // the password is kept elsewhere
		}
		return admin.User, admin.Password.Reveal(), err == nil, err
	})
}

// openSession asks the master of the cluster as the logged in user, or else as admin with
// the first password.
func (c *opened) openSession(ctx context.Context) (*client.Client, error) {
	e, err := c.Target.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	k, err := c.clusterContext(e)
	if err != nil {
		return nil, err
	}
	if cluster.Reach(ctx, k) != nil {
		return nil, &unreachedError{k.Master, c.w.kubectlFlags(e.Forward(c.Namespace()))}
	}
	if k, err = c.logIn(ctx, k); err != nil {
		return nil, err
	}
	if k.Token == "" {
		return nil, errNotLoggedIn
	}
	return k.Client()
}

// unreachedError is a master that cannot be asked to pause its tasks.
type unreachedError struct{ url, forward string }

func (e *unreachedError) Error() string {
	return "pause tasks: the master does not answer at " + e.url + ", and only it can stop tasks so that they are run again"
}

// Hint says what brings it here.
func (e *unreachedError) Hint() string {
	return "run `" + e.forward + "` beside, or leave --pause-tasks out"
}

var errNotLoggedIn = errors.New("pause tasks: the first password was changed, and no user is logged in; run `det-deploy login admin` first")
