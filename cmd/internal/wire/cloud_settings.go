package wire

import (
	"maps"

	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Settings is what is said and remembered of a cluster: its description S, and what is known
// of its cloud, K.
type Settings[S, K any] struct {
	// Spec is empty where Unread is true.
	Spec  S
	Known K
	// All are to be remembered, without what is known.
	All map[string]string
	// Unread is true where nothing is said and remembered, or cannot be read: of such a
	// cluster nothing is wanted, and what is there is found by its mark. Reason says why it
	// cannot be read.
	Unread bool
	Reason error
}

// ReadSettings reads what q gives over what o remembers. Place is settings by their paths
// that say where the cluster is, and remembered where the others do not say so.
func ReadSettings[S, K any, P interface {
	*S
	spec.Cluster
}](q CloudRequest, o Opened, flags spec.Table, place map[string]string) (r Settings[S, K], err error) {
	if r.Known, err = hosted.ReadKnown[K](o.Record.Settings); err != nil {
		return r, err
	}
	r.All = make(map[string]string)
	maps.Copy(r.All, o.Record.Settings)
	if q.Given != nil {
		if r.All, err = flags.Merge(P(new(S)), *q.Given, r.All); err != nil {
			return r, err
		}
	}
	delete(r.All, hosted.KnownSetting)
	if q.Given == nil && !o.Known {
		r.Unread = true
		return r, nil // nothing is known but its id, which is enough to take it down
	}
	if err := addPlace(r.All, flags, place); err != nil {
		return r, err
	}
	var read S
	err = flags.Read(P(&read), q.Cluster, r.All)
	switch {
	case err == nil:
		r.Spec = read
	case q.Given != nil:
		return r, err
	default:
		var nothing K
		r.Known, r.Unread, r.Reason = nothing, true, err
	}
	return r, nil
}

// addPlace adds where the cluster is to settings that do not say so.
func addPlace(settings map[string]string, flags spec.Table, place map[string]string) error {
	for path, value := range place {
		f, _ := flags.Find(path)
		named, err := findNamed(settings, f)
		if err != nil {
			return err
		}
		if named == "" && value != "" {
			settings[f.Flag] = value
		}
	}
	return nil
}

// findNamed is what settings say of the setting of a flag.
func findNamed(settings map[string]string, f spec.Flag) (string, error) {
	if settings[f.Flag] != "" {
		return settings[f.Flag], nil
	}
	named, _, err := spec.Given{File: []byte(settings[spec.FileSetting]), FileName: spec.FileSetting}.Lookup(f.Path)
	return named, err
}
