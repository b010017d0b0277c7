package checkpoint

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Reported reports whether a program of an experiment has ever reported to the master. The
// library does so after it has validated the storage and before it stores a file. A run that failed
// earlier, for example because of its image, has stored nothing.
func Reported(ctx context.Context, r store.Reader, experiment int32) (bool, error) {
	docs, err := record.Docs().Trials.ByParent(ctx, r, record.Key(experiment))
	return slices.ContainsFunc(docs, func(d store.Doc[record.Trial]) bool { return !d.Value.Heard.IsZero() }), err
}

// ForgetAll deletes the records of all checkpoints of a DELETING experiment and leaves the files. It
// ends the tasks that delete them. It returns FailedPrecondition if a checkpoint is in use.
func (c *Checkpoints) ForgetAll(ctx context.Context, experiment int32) error {
	all, err := OfExperiment(ctx, c.cfg.Store, experiment)
	if err != nil {
		return err
	}
	return c.forgetAll(ctx, experiment, all)
}

func (c *Checkpoints) forgetAll(ctx context.Context, experiment int32, all []Record) error {
	left := slices.DeleteFunc(slices.Clone(all), func(rec Record) bool { return !rec.State.Deletable() })
	if err := refuseNeeded(ctx, c.cfg.Store, c.uses, left); err != nil {
		return err
	}
	if err := c.cancelDeletions(ctx, experiment); err != nil {
		return err
	}
	return c.forget(ctx, experiment, all)
}

// cancelDeletions ends the tasks that delete files of an experiment, and removes their deletions.
func (c *Checkpoints) cancelDeletions(ctx context.Context, experiment int32) error {
	key := record.Key(experiment)
	waiting, err := deletions().IDsByParent(ctx, c.cfg.Store, key)
	if err != nil || len(waiting) == 0 {
		return err
	}
	for _, id := range waiting {
		if err := c.cfg.Tasks.End(ctx, rm.TaskID(id), "the files are kept"); err != nil {
			return err
		}
	}
	return c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := deletions().DeleteByParent(tx, key)
		return err
	})
}

// forget deletes the records of an experiment whose files are deleted.
func (c *Checkpoints) forget(ctx context.Context, experiment int32, all []Record) error {
	trials := map[int32]bool{}
	for _, rec := range all {
		trials[rec.Trial] = true
	}
	return c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for trial := range trials {
			if _, err := records().DeleteByParent(tx, trialKey(trial)); err != nil {
				return err
			}
		}
		key := record.Key(experiment)
		if _, err := runStorages().DeleteByParent(tx, key); err != nil {
			return err
		}
		return errors.Join(cleaned().Delete(tx, key), collections().Delete(tx, key), Release(tx, SourceOf(experiment)))
	})
}

// Directories returns the directories with the files of an experiment, sorted: one of each
// checkpoint, and those of the TensorBoard files.
func Directories(ctx context.Context, s *store.Store, experiment int32) ([]string, error) {
	all, err := OfExperiment(ctx, s, experiment)
	if err != nil {
		return nil, err
	}
	reported, err := Reported(ctx, s, experiment)
	if err != nil {
		return nil, err
	}
	places := map[int32]string{}
	locate := func(storage int32) (string, error) {
		if _, found := places[storage]; !found {
			where, err := StorageOf(ctx, s, experiment, storage)
			if err != nil {
				return "", err
			}
			places[storage] = where.Location()
		}
		return places[storage], nil
	}
	var dirs []string
	for _, rec := range all {
		if rec.State == Deleted {
			continue
		}
		place, err := locate(rec.Storage)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, join(place, rec.UUID))
	}
	if reported {
		if _, err := locate(0); err != nil {
			return nil, err
		}
		for _, place := range places {
			dirs = append(dirs, join(place, s.Meta().ClusterID, "tensorboard", "experiment", strings.TrimLeft(record.Key(experiment), "0")))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// join joins a location with names. Unlike path.Join, it keeps the slashes of a URL.
func join(location string, names ...string) string {
	if location == "" { // the storage is unknown
		return path.Join(names...)
	}
	return strings.TrimSuffix(location, "/") + "/" + path.Join(names...)
}
