// Package definition stores model definitions: the files that a user submits with an experiment,
// packed and split into parts.
package definition

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/archive"
)

// MaxFiles limits the number of files in a model definition. Data sets belong in a storage that the
// program reads by itself.
const MaxFiles = 100_000

// Save packs and stores the files of an experiment that the caller stores afterwards. It returns the
// packed size in bytes. Invalid files are reported with the code InvalidArgument.
func Save(ctx context.Context, s *store.Store, experiment int32, files []*apiv1.File, contents archive.Contents) (int64, error) {
	if len(files) == 0 {
		return 0, nil
	}
	if len(files) > MaxFiles {
		return 0, status.New(status.InvalidArgument, "the model definition has %d files; at most %d are allowed; exclude data, for example with a .detignore file", len(files), MaxFiles)
	}
	if contents == nil {
		contents = archive.Held(files)
	}
	p := &archive.Parts{Put: func(n int, b []byte) error {
		return s.Write(ctx, func(tx *store.Tx) error { return put(tx, experiment, n, b) })
	}}
	err := archive.Pack(p, files, contents)
	if err == nil {
		err = p.Flush()
	}
	return p.Written, refusal(err)
}

func put(tx *store.Tx, experiment int32, n int, b []byte) error {
	key := record.Key(experiment)
	return record.Docs().Parts.Put(tx, archive.PartID(key, n), key, time.Time{}, b)
}

// refusal converts errors that the files caused to InvalidArgument.
func refusal(err error) error {
	_, path := errors.AsType[*archive.PathError](err)
	_, size := errors.AsType[*archive.SizeError](err)
	if path || size {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return err
}

// Copy copies the files of experiment from to experiment to.
func Copy(ctx context.Context, s *store.Store, from, to int32, size int64) error {
	n := 0
	for part, err := range Read(ctx, s, from, size) {
		if err != nil {
			return err
		}
		if err := s.Write(ctx, func(tx *store.Tx) error { return put(tx, to, n, part) }); err != nil {
			return err
		}
		n++
	}
	return nil
}

// Read returns the packed files of an experiment, size bytes in total, in parts.
func Read(ctx context.Context, r store.Reader, experiment int32, size int64) iter.Seq2[[]byte, error] {
	return archive.ReadParts(size, func(n int) ([]byte, bool, error) {
		d, found, err := record.Docs().Parts.Get(ctx, r, archive.PartID(record.Key(experiment), n))
		if err != nil {
			return nil, found, fmt.Errorf("read the files of experiment %d: %w", experiment, err)
		}
		return d.Value, found, nil
	})
}

// Delete removes the files of an experiment.
func Delete(tx *store.Tx, experiment int32) error {
	_, err := record.Docs().Parts.DeleteByParent(tx, record.Key(experiment))
	return err
}

// DeleteStray removes files whose experiment was never stored, because the master stopped between
// Save and the commit.
func DeleteStray(ctx context.Context, s *store.Store, exists func(experiment int32) bool) error {
	parents, err := record.Docs().Parts.Parents(ctx, s)
	if err != nil {
		return err
	}
	for _, parent := range parents {
		id, err := strconv.ParseInt(parent, 10, 32)
		if err != nil || exists(int32(id)) {
			continue
		}
		if err := s.Write(ctx, func(tx *store.Tx) error { return Delete(tx, int32(id)) }); err != nil {
			return err
		}
	}
	return nil
}
