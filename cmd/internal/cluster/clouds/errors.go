package clouds

import "fmt"

// absentError is a cluster that is not there.
type absentError struct {
	words           Words
	cluster, region string
}

func (c *Cluster) absentError() error { return &absentError{c.Words, c.ID(), c.Place()} }

func (e *absentError) Error() string {
	return fmt.Sprintf("there is no cluster %s in %s", e.cluster, e.region)
}

// Hint says where to look and what makes one.
func (e *absentError) Hint() string {
	return fmt.Sprintf("`det-deploy %[1]s %[2]s` shows what there is; `det-deploy %[1]s up --cluster-id %[3]s` makes it", e.words.Name, e.words.List, e.cluster)
}

// LostError is a cluster that runs and of which it is not known any more what it should
// be: up would bring it to what is given now, and to defaults for the rest.
type LostError struct{ Platform, Cluster string }

func (e *LostError) Error() string { return "the record of cluster " + e.Cluster + " is lost" }

// Hint says how to get it back.
func (e *LostError) Hint() string {
	return "run `det-deploy " + e.Platform + " adopt --cluster-id " + e.Cluster + "` to read its settings back"
}
