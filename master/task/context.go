package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/archive"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// contexts stores the files of tasks.
type contexts struct{ *shared }

// storeFiles stores the files of a task, and returns their packed size in bytes. Until the task is
// stored as well they belong to no task: see dropStrayParts.
func (c *contexts) storeFiles(ctx context.Context, task *lifecycle.Task, files []*apiv1.File, contents archive.Contents) (int64, error) {
	if len(files) == 0 {
		return 0, nil
	}
	if contents == nil {
		contents = archive.Held(files)
	}
	// An earlier attempt under this id may have been interrupted.
	if err := c.dropParts(ctx, task.ID); err != nil {
		return 0, err
	}
	p := &archive.Parts{Put: func(n int, b []byte) error {
		return c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			return toDocs().parts.Put(tx, archive.PartID(string(task.ID), n), string(task.ID), task.Submitted, b)
		})
	}}
	err := archive.Pack(p, files, contents)
	if err == nil {
		err = p.Flush()
	}
	return p.Written, refusedFiles(err)
}

// copyFiles stores the files of a task as those of another one, and returns their packed size in bytes. Its
// error has the code NotFound if they are no longer stored.
func (c *contexts) copyFiles(ctx context.Context, to rm.TaskID, from *lifecycle.Task, at time.Time) (copied int64, err error) {
	for n := 0; copied < from.ContextBytes; n++ {
		d, found, err := toDocs().parts.Get(ctx, c.cfg.Store, archive.PartID(string(from.ID), n))
		if err == nil && !found {
			err = status.New(status.NotFound, "the files of task %s are no longer stored; send them", from.ID)
		}
		if err != nil {
			return copied, err
		}
		err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			return toDocs().parts.Put(tx, archive.PartID(string(to), n), string(to), at, d.Value)
		})
		if err != nil {
			return copied, err
		}
		copied += int64(len(d.Value))
	}
	return copied, nil
}

// filesOf returns the files of a submission, without the contents of those that were sent before. Its
// error has the code InvalidArgument or NotFound.
func (c *contexts) filesOf(ctx context.Context, d draft) ([]*apiv1.File, error) {
	id := d.req.GetContextId()
	switch {
	case id == "":
		return d.req.GetFiles(), nil
	case len(d.req.GetFiles()) > 0:
		return nil, status.New(status.InvalidArgument, "context_id: cannot be combined with files; send either")
	}
	list, err := c.cfg.Contexts.Files(ctx, d.user, id)
	return bundle.FilesOf(list), err
}

// claimContext keeps the context of tasks that are stored in the same transaction.
func (c *contexts) claimContext(ctx context.Context, tx *store.Tx, d draft, tasks ...rm.TaskID) error {
	if d.req.GetContextId() == "" {
		return nil
	}
	holders := make([]string, len(tasks))
	for i, id := range tasks {
		holders[i] = holderOf(string(id))
	}
	return c.cfg.Contexts.ClaimAll(ctx, tx, holders, d.user, d.req.GetContextId())
}

// holderOf returns the name with which a task claims its context.
func holderOf(task string) string { return "task/" + task }

// CopyContext stores the context of a task as one of the user, without sending it again, and returns its
// ID, or "" if the task has none. Its error has the code NotFound.
func (c *contexts) CopyContext(ctx context.Context, to *apiv1.User, id string) (string, error) {
	e, found, err := c.findTask(ctx, rm.TaskID(id))
	if err == nil && (!found || e.latestSnapshot().task.Kind != lifecycle.Command) {
		err = status.Missing("task", id)
	}
	if err != nil {
		return "", err
	}
	held, err := c.cfg.Contexts.HeldBy(ctx, holderOf(id))
	if err != nil || held == "" {
		return "", err
	}
	return c.cfg.Contexts.Copy(ctx, holderOf(id), to)
}

// refusedFiles returns an error with the code InvalidArgument if the files are the cause of err.
func refusedFiles(err error) error {
	_, path := errors.AsType[*archive.PathError](err)
	_, size := errors.AsType[*archive.SizeError](err)
	if path || size {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return err
}

// dropParts deletes the files of a task, unless the task is stored.
func (c *contexts) dropParts(ctx context.Context, id rm.TaskID) error {
	return c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, stored, err := toDocs().tasks.Get(ctx, tx, string(id))
		if err == nil && !stored {
			_, err = toDocs().parts.DeleteByParent(tx, string(id))
		}
		return err
	})
}

// dropStored deletes the files of a stored task.
func (c *contexts) dropStored(ctx context.Context, tx *store.Tx, id string) error {
	released := bundle.Release(tx, holderOf(id))
	n, err := toDocs().parts.DeleteByParent(tx, id)
	if err = errors.Join(released, err); err != nil || n == 0 {
		return err
	}
	d, _, err := toDocs().tasks.Get(ctx, tx, id)
	c.cfg.Quota.Add(tx, d.Value.UserID, quota.Contexts, -d.Value.ContextBytes)
	return err
}

// dropStrayParts deletes the files of tasks that were never stored because the master was interrupted.
func (c *contexts) dropStrayParts(ctx context.Context) error {
	parents, err := toDocs().parts.Parents(ctx, c.cfg.Store)
	if err != nil {
		return err
	}
	for _, id := range parents {
		if err := c.dropStrayOf(ctx, rm.TaskID(id)); err != nil {
			return err
		}
	}
	return nil
}

// dropStrayOf deletes the files of one task if it is not stored, and blocks a concurrent submission
// under its id. Most ids are those of ended and listed tasks, for which nothing is written.
func (c *contexts) dropStrayOf(ctx context.Context, id rm.TaskID) error {
	if _, stored, err := toDocs().tasks.Get(ctx, c.cfg.Store, string(id)); err != nil || stored {
		return err
	}
	_, _, err := c.reg.makeTask(id, func(*entry) (bool, error) { return false, c.dropParts(ctx, id) })
	return err
}

// ContextDirectory returns the archive of a task's files in parts, and its size in bytes, 0 for none and
// negative if it is unknown.
// Its error has the code NotFound.
func (c *contexts) ContextDirectory(ctx context.Context, id string) (size int64, all iter.Seq2[[]byte, error], err error) {
	e, found, err := c.findTask(ctx, rm.TaskID(id))
	if err == nil && !found {
		err = status.Missing("task", id)
	}
	if err != nil {
		return 0, nil, err
	}
	if owner, found := c.reg.ownerOf(e.latestSnapshot().task.Kind); found {
		return owner.Context(ctx, rm.TaskID(id))
	}
	held, err := c.cfg.Contexts.HeldBy(ctx, holderOf(id))
	if err != nil {
		return 0, nil, err
	}
	if held != "" {
		all, err = c.cfg.Contexts.Archive(ctx, holderOf(id))
		return bundle.UnknownSize, all, err
	}
	// Earlier versions kept it in one document.
	d, whole, err := toDocs().contexts.Get(ctx, c.cfg.Store, id)
	if err != nil {
		return 0, nil, err
	}
	if whole {
		return int64(len(d.Value)), func(yield func([]byte, error) bool) { yield(d.Value, nil) }, nil
	}
	size = e.latestSnapshot().task.ContextBytes
	return size, c.readParts(ctx, rm.TaskID(id), size), nil
}

func (c *contexts) readParts(ctx context.Context, id rm.TaskID, size int64) iter.Seq2[[]byte, error] {
	return archive.ReadParts(size, func(n int) ([]byte, bool, error) {
		d, found, err := toDocs().parts.Get(ctx, c.cfg.Store, archive.PartID(string(id), n))
		if err == nil && !found {
			err = fmt.Errorf("read the files of task %s: part %d is missing: %w", id, n, io.ErrUnexpectedEOF)
		}
		return d.Value, found, err
	})
}
