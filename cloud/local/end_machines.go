package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// endPatience bounds the wait until the tasks of ended machines are gone.
	endPatience = time.Minute
	// glance is how often it is looked whether they are.
	glance = 50 * time.Millisecond
)

// Found lists the machines of all pools below a root that have not ended, for
// commands on the whole cluster while no master runs.
func Found(root string) ([]Place, error) {
	pools, err := isBelow(root)
	if err != nil {
		return nil, fmt.Errorf("look for machines: %w", err)
	}
	var out []Place
	for _, pool := range pools {
		dirs, err := isBelow(pool)
		if err != nil {
			return nil, fmt.Errorf("look for machines: %w", err)
		}
		for _, dir := range dirs {
			if place := Place(dir); isID(string(place.ID())) && fileExists(place.recordFile()) && fileExists(place.Data()) {
				out = append(out, place)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// isBelow lists what is in a directory; one that is not there is empty.
func isBelow(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// fileExists reports whether something is there, or may be.
func fileExists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// End ends one machine and waits until nothing runs of it and its directory is
// gone. One that is gone is not an error. Program is det-deploy itself; no master
// may use the pool.
func End(ctx context.Context, place Place, program string) error {
	p := Open(Config{Root: filepath.Dir(filepath.Dir(string(place))), Pool: place.Pool(), Program: program})
	if err := p.Terminate(ctx, []cloud.InstanceID{place.ID()}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for {
		m, found, err := p.readMachine(place.ID())
		if err == nil && found {
			err = p.advanceMachine(&m)
		}
		if err != nil {
			return fmt.Errorf("end machine %s: %w", place.ID(), err)
		}
		if !p.hasData(place.ID()) {
			return os.RemoveAll(string(place))
		}
		if err := wait.For(ctx, glance); err != nil {
			return fmt.Errorf("end machine %s: what its tasks left is still there; see %s: %w", place.ID(), place.logFile(), err)
		}
	}
}
