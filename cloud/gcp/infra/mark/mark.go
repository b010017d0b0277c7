package mark

import (
	"maps"
	"strings"
)

// ClusterLabel holds the cluster ID, on all objects that support labels. On others, the first line
// of the description is "det-deploy-cluster=lab".
const ClusterLabel = "det-deploy-cluster"

// The metadata of a secret. Labels are short and restricted in their characters; annotations are
// not.
const (
	// RetainLabel holds whether `down` retains a secret.
	RetainLabel = "det-deploy-retain"
	// OpensNote describes the existing data of the user that a secret belongs to. No inventory
	// lists this data.
	OpensNote = "det-deploy-opens"
	// DigestNote holds a salted digest of a secret given by the user.
	DigestNote = "det-deploy-digest"
)

// The values of RetainLabel.
const (
	RetainYes = "yes"
	RetainNo  = "no"
)

// Owned returns the mark of all objects of the cluster.
func (c *Cluster) Owned() map[string]string { return map[string]string{ClusterLabel: c.ID} }

// AllLabels returns the labels of a new object: the user's and the cluster's.
func (c *Cluster) AllLabels() map[string]string {
	out := maps.Clone(c.Labels)
	if out == nil {
		out = make(map[string]string)
	}
	out[ClusterLabel] = c.ID
	return out
}

// Description returns the description of an object without labels: the mark and its purpose.
func (c *Cluster) Description(purpose string) string {
	return ClusterLabel + "=" + c.ID + "\n" + purpose
}

// DescribedMarks parses the mark in a description.
func DescribedMarks(description string) map[string]string {
	first, _, _ := strings.Cut(description, "\n")
	id, marked := strings.CutPrefix(first, ClusterLabel+"=")
	if !marked {
		return nil
	}
	return map[string]string{ClusterLabel: strings.TrimSpace(id)}
}
