package wire

import (
	"context"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/installer/record"
)

// ListedCluster describes a cluster of the account by its control bucket.
type ListedCluster struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	// Version is the version of det-deploy, or empty while the cluster is being created.
	Version string `json:"version"`
	// Ready is the last time that `up` found the cluster ready.
	Ready string `json:"ready,omitempty"`
	// Note describes an unusual state, such as an upgrade in progress or a lost record.
	Note string `json:"note,omitempty"`
	// Account holds the flags that select the account. Printed commands include them.
	Account []string `json:"-"`
}

// AddRecord fills in c from the cluster's record. An unreadable record is noted, so that it does not
// prevent listing the other clusters.
func (c *ListedCluster) AddRecord(ctx context.Context, platform string, from record.Store) {
	var o Opened
	err := o.ReadRecord(ctx, from)
	c.describe(platform, o, err)
}

func (c *ListedCluster) describe(platform string, o Opened, err error) {
	r := o.Record
	command := func(verb string) string {
		return "`" + strings.Join(append([]string{"det-deploy", platform, verb, "--cluster-id", c.Cluster}, c.Account...), " ") + "`"
	}
	switch {
	case err != nil:
		c.Note = strings.TrimSpace(err.Error())
		return
	case o.Removed:
		c.Note = "down; " + command("up") + " creates it again with its settings"
		return
	case !o.Known:
		c.Note = "the record is lost; " + command("adopt") + " rebuilds it"
	case r.Upgrade != nil:
		c.Note = "an upgrade to " + r.Upgrade.To.String() + " is in progress"
	case r.Ready.IsZero():
		c.Note = "incomplete; " + command("up") + " continues"
	}
	c.Version = r.Release.Version
	if !r.Ready.IsZero() {
		c.Ready = r.Ready.Format(time.RFC3339)
	}
}
