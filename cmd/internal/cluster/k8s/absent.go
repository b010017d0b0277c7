package k8s

import (
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
)

// searchTime limits the search for other clusters, which only makes messages more helpful.
const searchTime = 5 * time.Second

// others returns the other clusters that the caller may read, with their namespaces.
func (c *opened) others(ctx context.Context) []cluster.Existing {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var out []cluster.Existing
	for _, x := range c.Others(ctx) {
		out = append(out, cluster.Existing{ID: x.Cluster, Place: placeOf(x.Namespace)})
	}
	return out
}

func placeOf(namespace string) string { return "namespace " + namespace }

// absentError is an AbsentError for a cluster in a namespace.
type absentError struct {
	*cluster.AbsentError

	namespace string
}

func (e *absentError) Unwrap() error { return e.AbsentError }

func (c *opened) absentError(ctx context.Context) error {
	e := &cluster.AbsentError{
		Cluster: c.ID(), Have: c.others(ctx), None: "there is none in namespace " + c.Namespace(),
		Try: "`det-deploy k8s list` lists clusters; `det-deploy k8s install --cluster-id " + c.ID() + "` creates this one",
	}
	if near, found := cluster.Near(e.Cluster, e.Have); found { // its place is that of placeOf, which is also the flag
		e.Try = "for " + near.String() + ", use --cluster-id " + near.ID + " --" + near.Place + "; " + e.Try
	}
	return &absentError{e, c.Namespace()}
}

// completeID returns the only ID in the namespace that begins with text if err reports that there is no
// cluster text. It returns text for other results, with their error.
func completeID(text string, err error) (string, error) {
	absent, isAbsent := errors.AsType[*absentError](err)
	if !isAbsent {
		return text, err
	}
	var here []cluster.Existing
	for _, x := range absent.Have {
		if x.Place == placeOf(absent.namespace) {
			here = append(here, x)
		}
	}
	found, one, many := cluster.Beginning(text, here)
	switch {
	case many != nil:
		return text, many
	case !one:
		return text, err
	}
	return found.ID, nil
}
