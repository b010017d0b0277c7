package clouds

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// started is the JSON output of up.
type started struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	URL     string `json:"url"`
	User    string `json:"user"`
	// LoggedIn is false if up did not wait for the master or if the initial password was changed.
	LoggedIn bool `json:"logged_in"`

	c *Cluster
	// ca is the file with the certificate authority of the master, and certName the name in its
	// certificate.
	ca, certName string
}

// Finish makes the cluster the current context, logs in if the master answers, and returns the
// instructions for using it.
func (c *Cluster) Finish(ctx context.Context) (cluster.Answer, error) {
	e, err := c.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	k, err := c.clusterContext(e)
	if err != nil {
		return nil, err
	}
	if c.Awaited {
		if k, err = c.logIn(ctx, k); err != nil {
			return nil, err
		}
	}
	r := &started{
		Schema: "det-deploy." + c.Words.Name + "-up/v1", Cluster: c.ID(), Region: c.Place(), URL: e.URL, User: "admin",
		LoggedIn: c.Awaited && k.Token != "", c: c, certName: e.Name,
	}
	if r.ca, err = cluster.WriteCA(c.Streams, c.ID(), e.CA); err != nil {
		return nil, err
	}
	return r, cluster.Remember(ctx, c.Streams, k)
}

// clusterContext returns the context of the cluster. It keeps the session of a saved context for the same
// cluster.
func (c *Cluster) clusterContext(e wire.Endpoint) (contexts.Context, error) {
	k, err := cluster.Remembered(c.Streams, c.ID())
	if k.Master != e.URL {
		k.Token = "" // the session belongs to an earlier cluster with this ID
	}
	k.Name, k.Master, k.CA, k.ServerName = c.ID(), e.URL, string(e.CA), e.Name
	k.Platform, k.Region, k.Project = c.Words.Name, c.Place(), c.Project()
	return k, err
}

// Session returns the context of the cluster with the saved session, or that of the initial account.
func (c *Cluster) Session(ctx context.Context) (k contexts.Context, runs bool, err error) {
	e, err := c.Endpoint(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return k, false, nil
	}
	if err != nil {
		return k, true, err
	}
	if k, err = c.clusterContext(e); err != nil {
		return k, true, err
	}
	if err := cluster.Reach(ctx, k); err != nil {
		return k, true, err
	}
	k, err = c.logIn(ctx, k)
	return k, true, err
}

func (c *Cluster) logIn(ctx context.Context, k contexts.Context) (contexts.Context, error) {
	return cluster.LogIn(ctx, k, func(ctx context.Context) (user, password string, found bool, err error) {
		a, err := c.Admin(ctx)
		return a.User, a.Password.Reveal(), err == nil, err
	})
}

// Print writes the instructions for using the cluster.
func (r *started) Print(s *term.Streams) error {
	state := "is up at"
	if !r.c.Awaited {
		state = "is installed; its master is starting at"
	}
	s.Printf("Cluster %s in %s %s %s.", r.Cluster, r.Region, state, r.URL)
	s.Printf("")
	s.Printf("  export DET_MASTER=%s", r.URL)
	s.Printf("  export DET_MASTER_CERT_FILE=%s", r.ca)
	if r.certName != "" {
		s.Printf("  export DET_MASTER_CERT_NAME=%s", r.certName)
	}
	s.Printf("")
	next := s.Command("task run -- echo hello")
	switch {
	case r.LoggedIn:
		s.Printf("You are logged in as %s; show the password with `%s`. Next:", r.User, s.Command(r.c.arguments(cluster.Credentials)))
	case !r.c.Awaited:
		next = s.Command(r.c.arguments(cluster.Status))
		s.Printf("Show the password of %[2]s with `%[1]s`. Next:", s.Command(r.c.arguments(cluster.Credentials)), r.User)
	default:
		next = s.Command("login " + r.User)
		s.Printf("You are not logged in because the password of %s was changed. Next:", r.User)
	}
	s.Printf("")
	s.Printf("  %s", next)
	if r.c.Awaited {
		s.Printf("")
		s.Printf("Or open %s in a browser.", r.URL)
	}
	return nil
}
