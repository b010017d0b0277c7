package clouds

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
)

// searchTime limits the search for the other clusters of the account, which only makes messages more helpful.
const searchTime = 5 * time.Second

// existing returns the other clusters of the account, in all regions.
func (c *Cluster) existing(ctx context.Context) ([]cluster.Existing, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	all, err := c.provider.Known(ctx, c.Project())
	var out []cluster.Existing
	for _, x := range all {
		out = append(out, cluster.Existing{ID: x.Cluster, Place: x.Region})
	}
	return out, err
}

// absentError returns an AbsentError for the cluster.
func (c *Cluster) absentError(ctx context.Context) error {
	have, err := c.existing(ctx)
	e := &cluster.AbsentError{Cluster: c.ID(), Have: have, None: "there are none in this " + c.Words.Account}
	if err != nil {
		e.None = "not in " + c.Place() + "; other regions could not be searched"
	}
	e.Try = fmt.Sprintf("`det-deploy %[1]s %[2]s` lists clusters; `det-deploy %[1]s up --cluster-id %[3]s` creates this one", c.Words.Name, c.Words.List, e.Cluster)
	if near, found := cluster.Near(e.Cluster, have); found {
		e.Try = "for " + near.String() + ", use --cluster-id " + near.ID + " --region " + near.Place + "; " + e.Try
	}
	return e
}

// LostError reports a cluster that runs but has lost its record. Running up without the record would reset
// every setting that is not given to its default.
type LostError struct{ Platform, Cluster string }

func (e *LostError) Error() string { return "the record of cluster " + e.Cluster + " is lost" }

// Hint names the command that rebuilds the record.
func (e *LostError) Hint() string {
	return "run `det-deploy " + e.Platform + " adopt --cluster-id " + e.Cluster + "` to rebuild it"
}
