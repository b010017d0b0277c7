package wire

import (
	"context"
	"fmt"
	"maps"
	"os"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// dockerSocket is the default socket of the Docker daemon, used if DOCKER_HOST is not set.
const dockerSocket = "/var/run/docker.sock"

// Local is an opened cluster on this machine.
type Local struct {
	Opened

	Target *local.Target
	// Recovered is true if the record was lost and the settings were read back.
	Recovered bool
}

// LocalPlace returns the directory of a local cluster.
func LocalPlace(s *term.Streams, cluster string) (local.Place, error) {
	root, err := local.Root(s.Getenv)
	if err != nil {
		return "", err
	}
	return local.At(root, cluster), nil
}

// LocalClusters lists the clusters of this machine.
func LocalClusters(s *term.Streams) ([]string, error) {
	root, err := local.Root(s.Getenv)
	if err != nil {
		return nil, err
	}
	return local.Clusters(root)
}

// NewLocal opens a cluster. given holds the requested settings, or is nil; other settings have their
// recorded or default values.
func NewLocal(ctx context.Context, s *term.Streams, cluster string, given *spec.Given, sink event.Sink) (*Local, error) {
	place, err := LocalPlace(s, cluster)
	if err != nil {
		return nil, err
	}
	r, _, known, err := record.Read(ctx, place.Store())
	if err != nil {
		return nil, err
	}
	recovered, kept := false, false
	if !known {
		if r.Settings, err = place.Recover(); err != nil {
			return nil, fmt.Errorf("cannot recover the settings of cluster %s: %w", cluster, err)
		}
		recovered = r.Settings != nil
	}
	if !known && !recovered {
		r.Settings, err = place.KeptSettings()
		if err != nil && given != nil { // other commands do without, and down --forget deletes them
			return nil, err
		}
		kept = len(r.Settings) > 0 || err != nil
	}
	said := r.Settings
	if given != nil {
		if said, err = local.Flags().Merge(new(local.Spec), *given, said); err != nil {
			return nil, err
		}
	}
	settings := local.Flags().Defaults()
	maps.Copy(settings, said)
	wanted, err := local.FromSettings(cluster, settings)
	if err != nil && kept && given == nil { // down --forget deletes them
		wanted, err = local.FromSettings(cluster, local.Flags().Defaults())
	}
	if err != nil {
		return nil, err
	}
	target, err := localTarget(ctx, s, wanted, place, given != nil)
	if err != nil {
		return nil, err
	}
	if given != nil || r.Release.IsZero() { // hashing a program of 100 MB takes too long for every command
		if target.Own, err = local.Own(target.Program, build.Read().Version); err != nil {
			return nil, err
		}
	}
	if target.Release, err = localRelease(ctx, place, r, target.Own); err != nil {
		return nil, err
	}
	l := &Local{Opened: Opened{Record: r, Known: known, Removed: kept}, Target: target, Recovered: recovered}
	return l, l.Install(s, "", installer.Installer{
		Cluster: cluster, Platform: "local", Settings: maps.Clone(settings), Release: target.Release,
		Deployment: target, Store: place.Store(), Gate: target.Gate, Emit: sink,
	})
}

// localRelease returns the release of the cluster: the recorded or running one, or that of this program
// for a new cluster.
func localRelease(ctx context.Context, p local.Place, r record.Record, own record.Release) (record.Release, error) {
	if !r.Release.IsZero() {
		return r.Release, nil
	}
	runs, err := p.Running(ctx, own)
	if err != nil || !runs.IsZero() {
		return runs, err
	}
	return own, nil
}

// localTarget returns the target for a cluster on this machine. It fails if the address of tasks cannot be
// determined, but only if required is set.
func localTarget(ctx context.Context, s *term.Streams, wanted local.Spec, place local.Place, required bool) (*local.Target, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the file of this program: %w", err)
	}
	t := &local.Target{
		Spec: wanted, Place: place, Gate: new(resource.Gate),
		Program: program, Docker: socketPath(s.Getenv("DOCKER_HOST")), Refusals: Refusals,
	}
	if t.TasksAt, err = t.TasksReach(ctx); err != nil && required {
		return nil, err
	}
	_, t.Spec.Isolated = t.Isolated(ctx)
	return t, nil
}

func socketPath(host string) string {
	if len(host) > len("unix://") && host[:len("unix://")] == "unix://" {
		return host[len("unix://"):]
	}
	return dockerSocket
}
