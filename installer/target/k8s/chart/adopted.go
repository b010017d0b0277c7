package chart

import (
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
)

// droppedPaths lists the values of Determined's chart that would harm a det-deploy cluster, with
// the reasons.
func droppedPaths() []struct{ path, why string } {
	return []struct{ path, why string }{
		{"detVersion", "it is a version of Determined's image"},
		{"imageRegistry", "Determined's image is there"},
		{"enterpriseEdition", "there is no such edition"},
		{"defaultImages.postgreSQL", "the version is that of the old database"},
		{"defaultImages.kubeScheduler", "it is too old"},
		{"db", "the old database cannot be read; the new one is embedded, of the old one's size and class, unless --set db.type and related values differ"},
	}
}

// Adopted returns the values of a cluster that replaces a release of Determined's chart: old
// without the dropped values, overridden by given. A null in given removes a value.
func Adopted(old, given Values) (Values, error) {
	base := old
	for _, d := range droppedPaths() {
		base = base.withoutPath(d.path)
	}
	db := map[string]any{}
	if _, elsewhere := given.Get("db.hostAddress"); !elsewhere {
		db["type"] = "embedded"
	}
	for _, key := range []string{"storageSize", "storageClassName"} {
		if v, found := old.Get("db." + key); found && v != nil {
			db[key] = v
		}
	}
	base = Values{"db": db}.Over(base)
	out := given.Over(base.filterLeaves("", func(_ string, v any) (any, bool) { return v, v != nil }))
	return out, sameDatabase(old, out)
}

// withoutPath returns v without the value at a path of one or two keys.
func (v Values) withoutPath(path string) Values {
	return v.filterLeaves("", func(at string, value any) (any, bool) { return value, at != path && !isUnder(at, path) })
}

// isUnder reports whether a path is below another.
func isUnder(path, other string) bool {
	return len(path) > len(other) && path[:len(other)] == other && slices.Contains([]byte(".["), path[len(other)])
}

// DroppedNotes returns a sentence for each dropped value.
func DroppedNotes(old Values) []string {
	var out []string
	for _, d := range droppedPaths() {
		if v, found := old.Get(d.path); found && v != nil {
			out = append(out, fmt.Sprintf("The value %s is not carried over: %s.", d.path, d.why))
		}
	}
	return out
}

// sameDatabase returns an error if the new values use Determined's database.
func sameDatabase(old, now Values) error {
	host := now.Text("db.hostAddress")
	if host == "" || host != old.Text("db.hostAddress") || databaseName(now) != databaseName(old) {
		return nil
	}
	return &cloud.Error{
		Kind: cloud.Conflict, Op: "adopt", Resource: "database " + databaseName(now) + " at " + host, Err: errors.New("it is Determined's, and the new cluster would write into it"),
		Fix: "name an empty one with --set db.name=NAME",
	}
}

func databaseName(v Values) string {
	if name := v.Text("db.name"); name != "" {
		return name
	}
	return "determined" // the default of both charts
}
