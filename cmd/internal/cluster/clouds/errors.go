package clouds

import "fmt"

// absentError reports a cluster that does not exist.
type absentError struct {
	words           Words
	cluster, region string
}

func (c *Cluster) absentError() error { return &absentError{c.Words, c.ID(), c.Place()} }

func (e *absentError) Error() string {
	return fmt.Sprintf("there is no cluster %s in %s", e.cluster, e.region)
}

// Hint names the commands that list clusters and create this one.
func (e *absentError) Hint() string {
	return fmt.Sprintf("`det-deploy %[1]s %[2]s` lists clusters; `det-deploy %[1]s up --cluster-id %[3]s` creates this one", e.words.Name, e.words.List, e.cluster)
}

// LostError reports a cluster that runs but has lost its record. Running up without the record would reset
// every setting that is not given to its default.
type LostError struct{ Platform, Cluster string }

func (e *LostError) Error() string { return "the record of cluster " + e.Cluster + " is lost" }

// Hint names the command that rebuilds the record.
func (e *LostError) Hint() string {
	return "run `det-deploy " + e.Platform + " adopt --cluster-id " + e.Cluster + "` to rebuild it"
}
