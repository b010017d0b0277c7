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
)

const (
	// endPatience bounds the wait until the tasks of ended machines are gone.
	endPatience = time.Minute
	// glance is how often it is looked whether they are.
	glance = 50 * time.Millisecond
)

// Found lists the machines of all pools below a root that are not over, for
// whoever looks after the whole cluster while no master does.
func Found(root string) ([]Place, error) {
	names, err := filepath.Glob(filepath.Join(root, "*", idPrefix+"*", "machine.json"))
	if err != nil {
		return nil, fmt.Errorf("look for machines: %w", err)
	}
	var out []Place
	for _, n := range names {
		place := Place(filepath.Dir(n))
		if _, err := os.Stat(place.Data()); isID(string(place.ID())) && !errors.Is(err, fs.ErrNotExist) {
			out = append(out, place)
		}
	}
	slices.Sort(out)
	return out, nil
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
		m, found, err := p.machine(place.ID())
		if err == nil && found {
			err = p.tend(&m)
		}
		if err != nil {
			return fmt.Errorf("end machine %s: %w", place.ID(), err)
		}
		if !p.hasData(place.ID()) {
			return os.RemoveAll(string(place))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end machine %s: what its tasks left is still there; see %s: %w", place.ID(), place.log(), ctx.Err())
		case <-time.After(glance):
		}
	}
}
