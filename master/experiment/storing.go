package experiment

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// storeDraft writes what a draft changes.
func (s *shared) storeDraft(ctx context.Context, tx *store.Tx, d *change.Draft) error {
	if d.Record.State == lifecycle.Deleted {
		s.cfg.Quota.Add(tx, d.Record.UserID, quota.Definitions, -d.Record.ModelBytes)
		return dropExperiment(tx, d.Record)
	}
	docs := record.Docs()
	if d.Before().Events == 0 || !reflect.DeepEqual(d.Record, d.Before()) { // most reports change a trial alone
		if err := putExperiment(tx, d.Record); err != nil {
			return err
		}
	}
	if d.Config != nil {
		if err := replaceConfig(ctx, tx, d); err != nil {
			return err
		}
	}
	for _, t := range d.Changed() {
		if err := putTrial(tx, t); err != nil {
			return err
		}
	}
	if err := record.PutHparams(tx, d.Hparams()); err != nil {
		return err
	}
	search, others := record.EventParents(d.Record.ID)
	for _, e := range d.Events {
		parent := others
		if e.Search != nil {
			parent = search
		}
		if err := docs.Events.Put(tx, record.EventKey(d.Record.ID, e.Number), parent, e.At, e); err != nil {
			return err
		}
	}
	return s.storeReferences(tx, d)
}

func putExperiment(tx *store.Tx, x record.Experiment) error {
	return record.Docs().Experiments.Put(tx, record.Key(x.ID), "", x.Started, x)
}

func putTrial(tx *store.Tx, t record.Trial) error {
	return record.Docs().Trials.Put(tx, record.Key(t.ID), record.Key(t.Experiment), t.Created, t)
}

// storeReferences says which checkpoints the experiment needs from now on: new trials what they start
// from, for as long as they exist, and an open experiment what its trials start from. Of one that has
// ended its policy decides.
func (s *shared) storeReferences(tx *store.Tx, d *change.Draft) error {
	for _, id := range d.Created() {
		t, _ := d.Trial(id)
		if t.Life.WarmStart == "" {
			continue
		}
		if err := record.Docs().Sources.Put(tx, record.Key(id), t.Life.WarmStart, time.Time{}, struct{}{}); err != nil {
			return err
		}
	}
	source, began, ended := d.Record.Searcher.SourceCheckpoint, d.Opens(), isOpen(d.Before()) && !isOpen(d.Record)
	switch {
	case began && source != "":
		return s.cfg.Checkpoints.KeepSource(tx, d.Record.ID, source)
	case ended:
		return errors.Join(s.cfg.Checkpoints.KeepSource(tx, d.Record.ID, ""), s.cfg.Checkpoints.Collect(tx, d.Record.ID))
	}
	return nil
}

// replaceConfig writes a changed configuration beside what was submitted.
func replaceConfig(ctx context.Context, tx *store.Tx, d *change.Draft) error {
	docs, key := record.Docs(), record.Key(d.Record.ID)
	old, _, err := docs.Configs.Get(ctx, tx, key)
	changed, bad := newConfig(old.Value.Original, *d.Config)
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	return docs.Configs.Put(tx, key, "", time.Time{}, changed)
}

// nextID counts what gets numbers; a number is given once, also when what had it was deleted.
func nextID(ctx context.Context, tx *store.Tx, of string) (int32, error) {
	counters := record.Docs().Counters
	d, _, err := counters.Get(ctx, tx, of)
	if err != nil {
		return 0, err
	}
	d.Value++
	return d.Value, counters.Put(tx, of, "", time.Time{}, d.Value)
}
