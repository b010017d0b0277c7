package wire

import (
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/installer/record"
)

// ListedCluster is a cluster of the account, as its control bucket tells.
type ListedCluster struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	// Version is the det-deploy that it runs; empty while it is being made.
	Version string `json:"version"`
	// Ready is when `up` last saw it answer.
	Ready string `json:"ready,omitempty"`
	// Note is what is unusual: an upgrade under way, a record that is lost.
	Note string `json:"note,omitempty"`
}

// AddRecord fills in what the record of a cluster on a platform says. One that cannot be
// read hides no other cluster.
func (c *ListedCluster) AddRecord(platform string, r record.Record, found bool, err error) {
	command := func(verb string) string {
		return "`det-deploy " + platform + " " + verb + " --cluster-id " + c.Cluster + "`"
	}
	switch {
	case err != nil:
		c.Note = strings.TrimSpace(err.Error())
		return
	case !found:
		c.Note = "the record is lost; " + command("adopt") + " recreates it"
	case r.Upgrade != nil:
		c.Note = "an upgrade to " + r.Upgrade.To.String() + " is under way"
	case r.Ready.IsZero():
		c.Note = "not finished; " + command("up") + " continues"
	}
	c.Version = r.Release.Version
	if !r.Ready.IsZero() {
		c.Ready = r.Ready.Format(time.RFC3339)
	}
}
