package local

import (
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

// status is the JSON output of status.
type status struct {
	Schema  string          `json:"schema"`
	Cluster string          `json:"cluster"`
	URL     string          `json:"url"`
	State   installer.State `json:"state"`
	// Wrong lists the problems, one sentence each.
	Wrong []string `json:"wrong"`
	// Restrictions lists the tasks that are not isolated or cannot run, with reasons, one sentence each.
	Restrictions []string         `json:"restrictions"`
	Processes    []target.Process `json:"processes"`
	// CertificateExpires is when the master's certificate expires; it is left out without TLS.
	CertificateExpires time.Time `json:"certificate_expires,omitzero"`

	try string
}

// Inspect reads the state of the cluster's resources and processes.
func (c *opened) Inspect(ctx context.Context) (cluster.Answer, installer.State, error) {
	p, err := c.Plan(ctx)
	if err != nil {
		return nil, "", err
	}
	h := installer.Health{State: installer.StateOf(p), Wrong: []string{}}
	h.AddSteps(p, "`det-deploy local up"+idFlag(c.ID())+"` repairs it.")
	r := &status{Schema: "det-deploy.local-status/v1", Cluster: c.ID(), URL: c.Target.Spec.URL(), State: h.State, Wrong: h.Wrong, try: h.Try}
	r.Restrictions = c.listRestrictions(ctx)
	if why, isolated := c.Target.Isolated(ctx); !isolated {
		r.Restrictions = append(r.Restrictions, "tasks are not isolated from this machine, because "+why)
	}
	r.CertificateExpires = c.Target.CertificateExpiry()
	r.Processes, err = c.Target.Processes()
	return r, h.State, err
}

// Print writes the status as text.
func (r *status) Print(s *term.Streams) error {
	s.Printf("Cluster %s is %s at %s.", r.Cluster, r.State, r.URL)
	for _, w := range slices.Concat(r.Wrong, r.Restrictions) {
		s.Printf("  %s", w)
	}
	if end := r.CertificateExpires; !end.IsZero() {
		s.Printf("  The certificate expires on %s.", end.Format(time.DateOnly))
	}
	t := term.NewTable("PROCESS", "PID", "AGE", "RESTARTS")
	for _, p := range r.Processes {
		since := any("not running")
		if p.Alive {
			since = p.Since
		}
		t.Row(p.Name, p.PID, since, p.Restarts)
	}
	if err := s.PrintTable(t); err != nil {
		return err
	}
	if r.try != "" {
		s.Notef("%s", r.try)
	}
	return nil
}
