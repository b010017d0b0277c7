package bundle

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/archive"
)

func hashOf(b []byte) store.Hash { return sha256.Sum256(b) }

// Announce stores the list of a user's files and returns the pieces that the user has to send. It may be
// repeated. Pieces that it does not return stay until the context is deleted, an hour after its last
// call at the earliest. Errors have the codes InvalidArgument and ResourceExhausted.
func (c *Contexts) Announce(ctx context.Context, by *apiv1.User, files []*apiv1.ContextFile) (*apiv1.PostContextResponse, error) {
	if err := c.checkFiles(files); err != nil {
		return nil, err
	}
	id, list, err := packList(files)
	if err != nil {
		return nil, err
	}
	if err := c.cfg.Quota.Check(userOf(by), int64(len(list))); err != nil {
		return nil, err
	}
	set := store.BlobSet{Owner: by.GetId(), Context: id}
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error { return c.putContext(ctx, tx, set, files, list) })
	if err != nil {
		return nil, err
	}
	missing, err := store.MissingBlobs(ctx, c.cfg.Store, set)
	out := &apiv1.PostContextResponse{ContextId: nameOf(id), Missing: make([][]byte, len(missing))}
	for i := range missing {
		out.Missing[i] = missing[i][:]
	}
	return out, err
}

// userOf returns the user for whom stored bytes are counted.
func userOf(by *apiv1.User) quota.User { return quota.User{ID: by.GetId(), Name: by.GetUsername()} }

// putContext stores a context, or renews its time.
func (c *Contexts) putContext(ctx context.Context, tx *store.Tx, set store.BlobSet, files []*apiv1.ContextFile, list []byte) error {
	k := key(set)
	d, found, err := docs().contexts.Get(ctx, tx, k)
	if err != nil {
		return err
	}
	if found && !d.Value.Leaving {
		return docs().contexts.SetTime(tx, k, c.cfg.Now())
	}
	if !found {
		c.cfg.Quota.Add(tx, set.Owner, quota.Contexts, int64(len(list)))
		err = docs().lists.Put(tx, k, "", c.cfg.Now(), list)
		d.Value = record{Owner: set.Owner, ListBytes: int64(len(list))}
	}
	d.Value.Leaving = false
	return errors.Join(err, docs().contexts.Put(tx, k, "", c.cfg.Now(), d.Value), store.AddBlobRefs(tx, set, piecesOf(files)))
}

// piecesOf returns the pieces of all files.
func piecesOf(files []*apiv1.ContextFile) []store.Hash {
	var all []store.Hash
	for _, f := range files {
		for _, p := range f.GetPieces() {
			all = append(all, store.Hash(p))
		}
	}
	return all
}

// FilesOf returns the names and types of files.
func FilesOf(files []*apiv1.ContextFile) []*apiv1.File {
	out := make([]*apiv1.File, len(files))
	for i, f := range files {
		out[i] = &apiv1.File{Path: f.GetPath(), Type: f.GetType(), Mtime: f.GetMtime(), Mode: f.GetMode()}
	}
	return out
}

// checkFiles returns an error if the files are invalid or exceed a limit.
func (c *Contexts) checkFiles(files []*apiv1.ContextFile) error {
	switch n := len(files); {
	case n == 0:
		return status.New(status.InvalidArgument, "files: a context has at least one file")
	case n > MostFiles:
		return status.New(status.InvalidArgument, "the context has %d files; at most %d are allowed; exclude data, for example with a .detignore file", n, MostFiles)
	}
	if err := archive.CheckNames(FilesOf(files)); err != nil {
		return status.New(status.InvalidArgument, "%v", err)
	}
	var total int64
	for i, f := range files {
		if reason := unusablePieces(f); reason != "" {
			return status.New(status.InvalidArgument, "files[%d]: %s", i, reason)
		}
		total += f.GetSize()
		if total < 0 || c.cfg.MaxBytes > 0 && total > c.cfg.MaxBytes {
			return status.New(status.InvalidArgument, "the files of the context have more than the limit security.limits.context_bytes of %s; "+
				"exclude files that are not needed with a .detignore file, or ask an administrator to raise the limit", quota.FormatSize(c.cfg.MaxBytes))
		}
	}
	return nil
}

// unusablePieces returns why the pieces of a file are invalid, or "".
func unusablePieces(f *apiv1.ContextFile) string {
	want := (f.GetSize() + PieceBytes - 1) / PieceBytes
	switch {
	case f.GetSize() < 0 || f.GetSize() > 1<<50:
		return "its size is invalid"
	case archive.IsDirectory(f.GetType()) && f.GetSize() != 0:
		return "a directory has no content"
	case int64(len(f.GetPieces())) != want:
		return "the number of its pieces does not match its size"
	}
	for _, p := range f.GetPieces() {
		if len(p) != sha256.Size {
			return "a piece is not a SHA-256"
		}
	}
	return ""
}
