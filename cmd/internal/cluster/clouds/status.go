package clouds

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// status is the JSON output of status.
type status struct {
	Schema  string          `json:"schema"`
	Cluster string          `json:"cluster"`
	Region  string          `json:"region"`
	URL     string          `json:"url"`
	Version string          `json:"version"`
	State   installer.State `json:"state"`
	// Upgrade is the upgrade in progress, or null.
	Upgrade *record.Upgrade `json:"upgrade"`
	// Wrong lists the problems, one sentence each.
	Wrong []string `json:"wrong"`
	// Resources is the number of the cluster's existing resources.
	Resources int `json:"resources"`
	// Try is the suggested remedy.
	Try string `json:"try,omitempty"`

	c *Cluster
}

// Inspect checks the cluster's resources, the state reported by the master's machine, and whether the
// master answers from here.
func (c *Cluster) Inspect(ctx context.Context) (cluster.Answer, installer.State, error) {
	p, err := c.Plan(ctx)
	if err != nil {
		return nil, "", err
	}
	h := c.compareRecord(p)
	url, err := c.askMaster(ctx, p, &h)
	if err != nil {
		return nil, "", err
	}
	r, _ := c.Recorded()
	s := &status{
		Schema: "det-deploy." + c.Words.Name + "-status/v1", Cluster: c.ID(), Region: c.Place(), URL: url,
		Version: r.Release.Version, State: h.State, Upgrade: r.Upgrade, Wrong: append([]string{}, h.Wrong...), Try: h.Try, c: c,
	}
	for _, step := range p.Steps {
		if step.Found.Exists() {
			s.Resources++
		}
	}
	return s, h.State, nil
}

// compareRecord compares the existing resources with the record, if it exists and can be read.
func (c *Cluster) compareRecord(p plan.Plan) installer.Health {
	h := installer.Health{State: installer.StateOf(p)}
	r, recorded := c.Recorded()
	switch unread := c.Unread; {
	case !recorded && h.State == installer.Absent:
		h.Try = "Data remains. Restore the cluster with `" + c.commandLine(cluster.Up) + "`, or delete the data with `" + c.commandLine(cluster.Down) + " --delete-data`."
	case !recorded:
		h.Add("the record is lost, so the requested state is unknown", "`"+c.commandLine(cluster.Adopt)+"` rebuilds the record.")
	case unread != nil:
		h.Add("the record cannot be read: "+unread.Error(),
			"Use det-deploy "+r.Release.Version+", which wrote it, or correct the settings with `"+c.commandLine(cluster.Up)+"`.")
	default:
		h.AddSteps(p, "`"+c.commandLine(cluster.Up)+"` repairs it.")
	}
	return h
}

// askMaster checks the master's machine and the master, and returns the master's URL.
func (c *Cluster) askMaster(ctx context.Context, p plan.Plan, h *installer.Health) (url string, err error) {
	e, err := c.Endpoint(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	trouble, err := c.MasterTrouble(ctx)
	if err != nil {
		return "", err
	}
	if trouble != "" {
		h.Add(trouble, c.logsHint(p))
	}
	if err := cluster.Reach(ctx, contexts.Context{Master: e.URL, CA: string(e.CA), ServerName: e.Name}); err != nil {
		h.Add("the master is not reachable from here: "+err.Error(),
			"The master's machine reports no problem: allow this machine with --inbound-cidr, or run the command on an allowed one.")
	}
	return e.URL, nil
}

// logsHint names the command that shows the logs of the master's machine. Until the machine has sent its
// first logs, only its console output is available.
func (c *Cluster) logsHint(p plan.Plan) string {
	text := "`" + c.commandLine(cluster.Logs) + "` shows its log"
	if id := masterIn(p, c.Words.Master(c.ID())); id != "" {
		text += "; while it boots, `" + c.Words.Console(c.CloudCluster, id) + "` does"
	}
	return text + "."
}

// masterIn returns the instance ID of the master's machine, or "" if it does not exist.
func masterIn(p plan.Plan, name string) string {
	for _, s := range p.Steps {
		if s.Found.Kind == "instance" && s.Found.Name == name {
			return s.Found.ID
		}
	}
	return ""
}

// Print writes the status as text.
func (r *status) Print(s *term.Streams) error {
	at := ""
	if r.URL != "" {
		at = " at " + r.URL
	}
	s.Printf("Cluster %s in %s is %s%s.", r.Cluster, r.Region, r.State, at)
	if r.Version != "" {
		s.Printf("It runs det-deploy %s on %s.", r.Version, term.Count(r.Resources, "resource"))
	}
	if r.Upgrade != nil {
		s.Printf("An upgrade to %s is in progress; continue it with `%s`.", r.Upgrade.To, r.c.commandLine(cluster.Upgrade))
	}
	for _, w := range r.Wrong {
		s.Printf("  %s", w)
	}
	if r.Try != "" {
		s.Notef("%s", r.Try)
	}
	return nil
}
