package wire

import (
	"maps"

	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Settings holds the given and recorded settings of a cluster: its description S and the facts K known
// about its cloud.
type Settings[S, K any] struct {
	// Spec is empty if Unread is true.
	Spec  S
	Known K
	// All holds the settings to record, without the known facts.
	All map[string]string
	// Unread is true if there are no settings or they cannot be read. Such a cluster has no requested
	// state, and its resources are found by their tags or labels. Reason is the error of reading them.
	Unread bool
	Reason error
}

// ReadSettings merges the settings that q gives with the recorded ones of o. place holds, by path, the
// settings that locate the cluster; they are recorded unless the other settings contain them.
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
		return r, nil // only the ID is known, which is sufficient to remove the cluster
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

// addPlace adds the location of the cluster to settings that do not contain it.
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

// findNamed returns the value of a flag's setting, from the flags or from the file.
func findNamed(settings map[string]string, f spec.Flag) (string, error) {
	if settings[f.Flag] != "" {
		return settings[f.Flag], nil
	}
	named, _, err := spec.Given{File: []byte(settings[spec.FileSetting]), FileName: spec.FileSetting}.Lookup(f.Path)
	return named, err
}
