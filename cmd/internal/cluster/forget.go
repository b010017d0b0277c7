package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Memory describes the settings that a cluster keeps when it is removed.
type Memory struct {
	// Settings lists those that are not the defaults, after a colon. It may be empty.
	Settings string
	// Forget is the command that deletes them.
	Forget string
	// Removed is true if the cluster was removed and the settings are all that is left of its record.
	Removed bool
}

// DownError reports a cluster that was removed and whose settings are kept.
type DownError struct {
	Cluster string
	// Up is the command that creates it again.
	Up string
}

func (e *DownError) Error() string { return "cluster " + e.Cluster + " is down" }

// Hint names the command that creates the cluster again.
func (e *DownError) Hint() string {
	return "`" + e.Up + "` creates it again with the settings that it had"
}

// ListSettings lists the flags of settings that are not the defaults, after a colon.
func ListSettings(table spec.Table, settings map[string]string) string {
	var out []string
	defaults := table.Defaults()
	if settings[spec.FileSetting] != "" {
		out = append(out, "--config-file")
	}
	for _, f := range table {
		switch value := settings[f.Flag]; {
		case value == "" || value == defaults[f.Flag]:
		case f.FromFile: // its value is the content of the file
			out = append(out, "--"+f.Flag)
		default:
			out = append(out, "--"+f.Flag+" "+value)
		}
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return ": " + strings.Join(out, " ")
}

// noteMemory tells that the settings of a cluster that was removed are used again.
func (o *upOptions) noteMemory(c Cluster) {
	if m := c.Memory(); m.Removed {
		o.Notef("Cluster %s gets the settings back that it had before it was removed%s; `%s` drops them.", c.ID(), m.Settings, o.Command(m.Forget))
	}
}

// noteForgotten names, before the question, what --forget deletes.
func (o *downOptions) noteForgotten(c Cluster) {
	if o.Forget {
		o.Notef("The settings of cluster %s will be forgotten%s.", c.ID(), c.Memory().Settings)
	}
}

// forget deletes the settings of the cluster, which has just been removed, with --forget.
func (o *downOptions) forget(ctx context.Context, c Cluster, r *installer.Receipt) error {
	if !o.Forget || o.DeleteData {
		return nil // all is deleted with the data
	}
	r.Kept = slices.DeleteFunc(r.Kept, installer.IsSettings)
	return c.DropSettings(ctx)
}

// runRemoved handles a cluster that is down: p has nothing to delete, and there is no record.
func (o *downOptions) runRemoved(ctx context.Context, ask prompt, c Cluster, p plan.Plan) error {
	for _, line := range c.Absent(ctx) {
		o.Notef("%s", line)
	}
	receipt, m := installer.KeptReceipt(p), c.Memory()
	switch {
	case !m.Removed:
	case o.Forget || o.DeleteData:
		o.Notef("The settings of cluster %s will be forgotten%s.", c.ID(), m.Settings)
		if agreed, err := ask.confirmForget(ctx, c.ID()); err != nil || !agreed {
			return err
		}
		if err := c.DropSettings(ctx); err != nil {
			return err
		}
	default:
		o.Notef("Its settings are kept; `%s` forgets them.", o.Command(m.Forget))
		receipt.Kept = append(receipt.Kept, installer.KeptSettings(c.ID()))
	}
	return o.receipt(ask, c, receipt)
}
