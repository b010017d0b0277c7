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
	// endPatience is the timeout for removing the tasks of ended machines.
	endPatience = time.Minute
	// pollInterval is the polling interval.
	pollInterval = 50 * time.Millisecond
)

// Found returns the running machines of all pools below a root, for commands that act on the whole
// cluster while no master runs.
func Found(root string) ([]Place, error) {
	pools, err := listDir(root)
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var out []Place
	for _, pool := range pools {
		dirs, err := listDir(pool)
		if err != nil {
			return nil, fmt.Errorf("list machines: %w", err)
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

// listDir returns the entries of a directory, or none if it does not exist.
func listDir(dir string) ([]string, error) {
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

// fileExists reports whether a file exists. It returns true if that cannot be determined.
func fileExists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// End terminates a machine and waits until its processes have ended and its directory is deleted.
// It returns nil if the machine does not exist. Program is det-deploy's executable. No master may
// be using the pool.
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
		if err := wait.For(ctx, pollInterval); err != nil {
			return fmt.Errorf("end machine %s: the remains of its tasks were not removed; see %s: %w", place.ID(), place.logFile(), err)
		}
	}
}
