package k8s

import (
	"cmp"
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// started is the JSON output of install.
type started struct {
	Schema    string `json:"schema"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Context   string `json:"context"`
	// URL is the master's external address, or empty if it has none. Answers is true if the master
	// has answered there.
	URL     string `json:"url"`
	Answers bool   `json:"answers"`
	// Service and Forward name the Service and the port-forward command for a master without a URL.
	Service string `json:"service"`
	Forward string `json:"forward"`
	User    string `json:"user"`
	// LoggedIn is false if install did not wait for the master, cannot reach it, or if the initial
	// password was changed.
	LoggedIn bool `json:"logged_in"`

	c     *opened
	e     target.Endpoint
	flags string // that select this cluster in another command
}

// Finish makes the cluster the current context, logs in if the master answers from here, and returns the
// instructions for using it.
func (c *opened) Finish(ctx context.Context) (cluster.Answer, error) {
	e, err := c.Target.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	k, err := c.clusterContext(e)
	if err != nil {
		return nil, err
	}
	answers := !c.w.NoWait && e.URL != "" && cluster.Reach(ctx, k) == nil
	if answers {
		if k, err = c.logIn(ctx, k); err != nil {
			return nil, err
		}
	}
	r := &started{
		Schema: "det-deploy.k8s-install/v1", Cluster: c.ID(), Namespace: c.Namespace(), Context: c.Kube.Context(),
		URL: e.URL, Service: e.Service, Forward: c.w.kubectlFlags(e.Forward(c.Namespace())), User: "admin",
		Answers: answers, LoggedIn: k.Token != "", c: c, e: e, flags: c.flagLine(),
	}
	return r, cluster.Remember(ctx, c.w.Streams, k)
}

// Print writes the instructions for using the cluster.
func (r *started) Print(s *term.Streams) error {
	state, flags := "is up", r.flags
	if r.c.w.NoWait {
		state = "is installed; its master is starting"
	}
	switch {
	case r.URL == "" || !r.Answers && !r.c.w.NoWait:
		s.Printf("Cluster %s in namespace %s %s.", r.Cluster, r.Namespace, state)
		r.printForward(s)
	default:
		s.Printf("Cluster %s in namespace %s %s at %s.", r.Cluster, r.Namespace, state, r.URL)
		s.Printf("")
		s.Printf("  export DET_MASTER=%s", r.URL)
	}
	s.Printf("")
	if r.LoggedIn {
		s.Printf("You are logged in as %s; show the password with `%s`. Next:", r.User, s.Command("k8s credentials "+flags))
		s.Printf("")
		s.Printf("  %s", s.Command("task run -- echo hello"))
		s.Printf("")
		s.Printf("Or open %s in a browser.", r.URL)
		return nil
	}
	s.Printf("Show the initial password of %[2]s with `%[1]s`. Next:", s.Command("k8s credentials "+flags), r.User)
	s.Printf("")
	if r.c.w.NoWait {
		s.Printf("  %s", s.Command("k8s status "+flags))
		return nil
	}
	s.Printf("  %s", s.Command("login "+r.User))
	return nil
}

// printForward prints how to reach a master without an external address that answers.
func (r *started) printForward(s *term.Streams) {
	switch {
	case r.URL != "":
		s.Printf("Its address, %s, does not answer this machine: a new load balancer or name may take some minutes, and a node's address may be internal.", r.URL)
		s.Printf("Until it does, forward a port to this machine:")
	case r.e.Kind == "LoadBalancer":
		s.Printf("Its load balancer has no address yet; `%s` shows it when it is assigned.",
			r.c.w.kubectlFlags("kubectl -n "+r.Namespace+" get service "+r.e.Service+" --watch"))
		s.Printf("Until then, or without load balancers, forward a port to this machine:")
	default:
		s.Printf("It has no address outside of Kubernetes. Forward a port to this machine:")
	}
	s.Printf("")
	s.Printf("  %s", r.Forward)
	s.Printf("  export DET_MASTER=%s", r.e.Forwarded())
}

// clusterContext returns the context of the cluster. It keeps the session of a saved context for the same
// cluster.
func (c *opened) clusterContext(e target.Endpoint) (contexts.Context, error) {
	k, err := cluster.Remembered(c.w.Streams, c.ID())
	master := e.URL
	if master == "" {
		master = e.Forwarded() // the address of the printed port-forward command
	}
	if k.Master != master || k.Namespace != c.Namespace() || k.KubeContext != c.Kube.Context() {
		k.Token = "" // the session belongs to an earlier cluster with this ID
	}
	k.Name, k.Master, k.CA = c.ID(), master, string(e.CA)
	k.Platform, k.KubeContext, k.Namespace = Platform{}.Name(), c.Kube.Context(), c.Namespace()
	return k, err
}

// logIn starts a session with the initial password unless the saved one is valid.
func (c *opened) logIn(ctx context.Context, k contexts.Context) (contexts.Context, error) {
	return cluster.LogIn(ctx, k, func(ctx context.Context) (user, password string, found bool, err error) {
		admin, err := c.Target.Credentials(ctx)
		if kind := cloud.KindOf(err); kind == cloud.NotFound || kind == cloud.Denied {
			return "", "", false, nil // the password is stored elsewhere
		}
		return admin.User, admin.Password.Reveal(), err == nil, err
	})
}

// Session returns the context of the cluster with the saved session, or that of admin. It returns an
// *unreachedError if the master has no address, because another cluster's may answer at a forwarded one.
func (c *opened) Session(ctx context.Context) (k contexts.Context, runs bool, err error) {
	e, err := c.Target.Endpoint(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return k, false, nil
	}
	if err == nil && e.URL == "" {
		err = c.unreached(e)
	}
	if err != nil {
		return k, true, err
	}
	k, err = c.startSession(ctx, e)
	return k, true, err
}

func (c *opened) unreached(e target.Endpoint) *unreachedError {
	return &unreachedError{cmp.Or(e.URL, e.Forwarded()), c.w.kubectlFlags(e.Forward(c.Namespace()))}
}

// startSession returns the context of the cluster with a session, or without one if the initial password
// was changed.
func (c *opened) startSession(ctx context.Context, e target.Endpoint) (contexts.Context, error) {
	k, err := c.clusterContext(e)
	if err != nil {
		return k, err
	}
	if cluster.Reach(ctx, k) != nil {
		return k, c.unreached(e)
	}
	return c.logIn(ctx, k)
}

// openSession returns a client for the cluster's master, maybe at a forwarded port, that is logged in as
// the current user, or as admin with the initial password.
func (c *opened) openSession(ctx context.Context) (*client.Client, error) {
	e, err := c.Target.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	k, err := c.startSession(ctx, e)
	if u, unreached := errors.AsType[*unreachedError](err); unreached {
		return nil, &unpausedError{u}
	}
	if err != nil {
		return nil, err
	}
	if k.Token == "" {
		return nil, errNotLoggedIn
	}
	return k.Client()
}

// unreachedError reports that the master cannot be reached from here.
type unreachedError struct{ url, forward string }

func (e *unreachedError) Error() string {
	return "the master does not answer at " + e.url + ", where it does while `" + e.forward + "` runs in another terminal"
}

// unpausedError reports that the master cannot be reached to pause its tasks.
type unpausedError struct{ *unreachedError }

func (e *unpausedError) Error() string {
	return "cannot pause tasks: the master does not answer at " + e.url + ", and only the master can stop tasks so that they are run again"
}

// Hint returns the port-forward command.
func (e *unpausedError) Hint() string {
	return "run `" + e.forward + "` in another terminal, or omit --pause-tasks"
}

var errNotLoggedIn = errors.New("cannot pause tasks: no user is logged in, and the initial password was changed; try: det-deploy login admin")
