package mark

import (
	"maps"
	"strings"
)

// ClusterLabel holds the cluster's id, on everything that has labels. Where Google has
// none, "det-deploy-cluster=lab" is the first line of the description.
const ClusterLabel = "det-deploy-cluster"

// What is noted on a secret. Labels are short and of few letters; annotations are not.
const (
	// RetainLabel says whether a secret outlives `down`.
	RetainLabel = "det-deploy-retain"
	// OpensNote is what of the user's own a secret opens: data that no inventory lists.
	OpensNote = "det-deploy-opens"
	// DigestNote is a salted digest of a given secret.
	DigestNote = "det-deploy-digest"
)

// The values of RetainLabel.
const (
	RetainYes = "yes"
	RetainNo  = "no"
)

// Owned is the mark of everything that is the cluster's.
func (c *Cluster) Owned() map[string]string { return map[string]string{ClusterLabel: c.ID} }

// AllLabels are the labels of something that is made: the user's and the mark.
func (c *Cluster) AllLabels() map[string]string {
	out := maps.Clone(c.Labels)
	if out == nil {
		out = make(map[string]string)
	}
	out[ClusterLabel] = c.ID
	return out
}

// Description is that of something without labels: the mark, and what it is for.
func (c *Cluster) Description(purpose string) string {
	return ClusterLabel + "=" + c.ID + "\n" + purpose
}

// DescribedMarks reads the mark out of a description.
func DescribedMarks(description string) map[string]string {
	first, _, _ := strings.Cut(description, "\n")
	id, marked := strings.CutPrefix(first, ClusterLabel+"=")
	if !marked {
		return nil
	}
	return map[string]string{ClusterLabel: strings.TrimSpace(id)}
}
