package local

import (
	"context"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cloud/local"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
)

// Process is the state of a process as reported by its supervisor.
type Process struct {
	Name string `json:"name"`
	supervise.Status

	Alive bool `json:"alive"`
}

// Processes returns the processes of the cluster, by name.
func (t *Target) Processes() ([]Process, error) {
	d := t.Place.Processes()
	names, err := d.Known()
	if err != nil {
		return nil, wrapRefusal("list", "processes", err)
	}
	out := make([]Process, len(names))
	for i, name := range names {
		st, _, err := d.Status(name)
		if err != nil {
			return nil, wrapRefusal("read status", name, err)
		}
		out[i] = Process{name, st, st.Alive()}
	}
	return out, nil
}

// Supervised waits, up to a limit, for a supervisor. It reports whether one runs.
func (t *Target) Supervised(ctx context.Context) bool {
	return waitUntil(ctx, startLimit, func() bool { _, alive := t.Place.Processes().Holder(); return alive })
}

// machinesDir is the directory of the machines that the master launches as processes.
func (p Place) machinesDir() string { return filepath.Join(p.dataDir(), "master", "machines") }

// launchedBy lists the machines that the cluster's master has launched. They belong to the master
// and are deleted with it.
func launchedBy(p Place) ([]resource.Found, error) {
	places, err := local.Found(p.machinesDir())
	if err != nil {
		return nil, wrapRefusal("list", "machines", err)
	}
	var out []resource.Found
	for _, m := range places {
		id, err := filepath.Rel(string(p), string(m))
		if err != nil {
			return nil, wrapRefusal("list", "machines", err)
		}
		out = append(out, resource.Found{Kind: kindMachine, ID: id, Name: string(m.ID()), Launched: true})
	}
	return out, nil
}

// endMachine ends a machine with all its processes, after its master has stopped.
func endMachine(ctx context.Context, h host, p Place, id string) error {
	if err := h.gate.Pass(ctx, "end machine "+filepath.Base(id)); err != nil {
		return err
	}
	return local.End(ctx, local.Place(p.pathOf(id)), h.ownProgram())
}
