package experiment

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/definition"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// loadAll loads all experiments, open ones with their trials.
func (s *shared) loadAll(ctx context.Context) error {
	docs, err := record.Docs().Experiments.All(ctx, s.cfg.Store)
	if err != nil {
		return fmt.Errorf("read experiments: %w", err)
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, d := range docs {
		e := &entry{id: d.Value.ID, rec: &d.Value}
		if !isOpen(d.Value) {
			s.addLoaded(e)
			continue
		}
		g.Go(func() (err error) {
			if e.open, err = load(ctx, s.cfg.Store, e.id); err == nil {
				s.addLoaded(e)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return definition.DeleteStray(ctx, s.cfg.Store, func(id int32) bool {
		_, err := s.reg.find(id)
		return err == nil
	})
}

func (s *shared) addLoaded(e *entry) {
	s.reg.add(e)
	if s.needsWork(*e.rec) {
		s.dirty.wake(e.id)
	}
}

// load reads an experiment with its trials and search events.
func load(ctx context.Context, r store.Reader, id int32) (*change.Experiment, error) {
	docs, key := record.Docs(), record.Key(id)
	x, found, err := docs.Experiments.Get(ctx, r, key)
	if err == nil && !found {
		err = status.Missing("experiment", strconv.Itoa(int(id)))
	}
	if err != nil {
		return nil, err
	}
	c, _, err := loadConfig(ctx, r, id)
	if err != nil {
		return nil, err
	}
	var trials []store.Doc[record.Trial]
	var events []record.Event
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		trials, err = docs.Trials.ByParent(ctx, r, key)
		return err
	})
	g.Go(func() (err error) {
		search, _ := record.EventParents(id)
		events, err = readEvents(ctx, r, search)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read experiment %d: %w", id, err)
	}
	return change.Load(x.Value, c, values(trials), events)
}

// loadConfig reads a configuration and the submitted text.
func loadConfig(ctx context.Context, r store.Reader, id int32) (c config.Experiment, original string, err error) {
	d, found, err := record.Docs().Configs.Get(ctx, r, record.Key(id))
	if err != nil || !found {
		return c, "", fmt.Errorf("read the configuration of experiment %d (found: %t): %w", id, found, err)
	}
	if c, err = config.Load(d.Value.Complete); err != nil {
		return c, "", fmt.Errorf("read the configuration of experiment %d: %w", id, err)
	}
	return c, d.Value.Original, nil
}

// readEvents returns the events of the parents ordered by number. Their times may be out of order if
// the clock was set back.
func readEvents(ctx context.Context, r store.Reader, parents ...string) ([]record.Event, error) {
	docs, err := record.Docs().Events.ByParents(ctx, r, parents)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	events := values(docs)
	slices.SortFunc(events, func(a, b record.Event) int { return cmp.Compare(a.Number, b.Number) })
	return events, nil
}

func values[T any](docs []store.Doc[T]) []T {
	out := make([]T, len(docs))
	for i, d := range docs {
		out[i] = d.Value
	}
	return out
}
