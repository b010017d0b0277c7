package local

import (
	"context"

	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
)

// Process is one process of a cluster as its supervisor sees it.
type Process struct {
	Name string `json:"name"`
	supervise.Status

	Alive bool `json:"alive"`
}

// Processes lists the processes of the cluster, by name.
func (t *Target) Processes() ([]Process, error) {
	d := t.Place.Processes()
	names, err := d.Known()
	if err != nil {
		return nil, refuse("list", "processes", err)
	}
	out := make([]Process, len(names))
	for i, name := range names {
		st, _, err := d.Status(name)
		if err != nil {
			return nil, refuse("read status", name, err)
		}
		out[i] = Process{name, st, st.Alive()}
	}
	return out, nil
}

// Supervised waits, with a limit, until the cluster has a supervisor.
func (t *Target) Supervised(ctx context.Context) bool {
	return until(ctx, startLimit, func() bool { _, alive := t.Place.Processes().Holder(); return alive })
}
