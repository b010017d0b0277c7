package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document/naming"
)

const (
	// shortestID is the minimum length of the beginning of an ID that is accepted instead of the ID.
	shortestID = 4
	// namedClusters is the number of clusters that an error names.
	namedClusters = 20
)

// Existing is a cluster with its place, such as "us-west-2" or "namespace lab", or "" where all clusters are
// at one place.
type Existing struct{ ID, Place string }

func (e Existing) String() string {
	if e.Place == "" {
		return e.ID
	}
	return e.ID + " in " + e.Place
}

// AbsentError reports a cluster that does not exist.
type AbsentError struct {
	Cluster string
	// Have are the clusters that exist. None explains why there are none.
	Have []Existing
	None string
	// Try is the remedy.
	Try string
}

func (e *AbsentError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("no cluster %s here (%s)", e.Cluster, e.None)
	}
	text := fmt.Sprintf("no cluster %s here (have: %s)", e.Cluster, join(e.Have))
	if near, found := Near(e.Cluster, e.Have); found && near.ID != e.Cluster {
		text += ", did you mean " + near.ID + "?"
	}
	return text
}

// Hint implements the second line of an error.
func (e *AbsentError) Hint() string { return e.Try }

// join names the clusters, at most namedClusters of them.
func join(have []Existing) string {
	var texts []string
	for _, x := range have[:min(len(have), namedClusters)] {
		texts = append(texts, x.String())
	}
	if more := len(have) - namedClusters; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// Near returns the cluster with this ID, or else with the most similar one.
func Near(id string, have []Existing) (near Existing, found bool) {
	ids := make([]string, len(have))
	for i, x := range have {
		ids[i] = x.ID
	}
	at := slices.Index(ids, id)
	if at < 0 {
		at = slices.Index(ids, naming.Nearest(id, ids))
	}
	if at < 0 {
		return Existing{}, false
	}
	return have[at], true
}

// NearNote returns a line that names the cluster with the most similar ID, or none.
func NearNote(id string, have []Existing) []string {
	near, found := Near(id, have)
	if !found {
		return nil
	}
	return []string{"Did you mean cluster " + near.String() + "?"}
}

// Beginning returns the only cluster whose ID begins with text. An error lists several; one of them is not
// the cluster with the ID text, which the caller has looked for.
func Beginning(text string, have []Existing) (found Existing, one bool, err error) {
	if len(text) < shortestID {
		return Existing{}, false, nil
	}
	all := slices.DeleteFunc(slices.Clone(have), func(x Existing) bool { return !strings.HasPrefix(x.ID, text) || x.ID == text })
	switch len(all) {
	case 0:
		return Existing{}, false, nil
	case 1:
		return all[0], true, nil
	}
	return Existing{}, false, &ambiguousError{text, all}
}

// ambiguousError reports the beginning of several IDs.
type ambiguousError struct {
	text string
	all  []Existing
}

func (e *ambiguousError) Error() string {
	return fmt.Sprintf("%q stands for several clusters; nothing was done: %s", e.text, join(e.all))
}

// Hint implements the second line of an error.
func (e *ambiguousError) Hint() string { return "type more of the ID" }

// TakesBeginning reports whether a verb takes the beginning of an ID. Verbs that change clusters take whole
// IDs, because the cluster that was meant may be gone, and another one begins with its ID.
func (v Verb) TakesBeginning() bool { return v == Status || v == Logs || v == Credentials }
