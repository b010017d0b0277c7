package bundle

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// Files returns the files of a user's context. It returns NotFound if the user has no such context.
func (c *Contexts) Files(ctx context.Context, by *apiv1.User, id string) ([]*apiv1.ContextFile, error) {
	set, err := setOf(by, id)
	if err != nil {
		return nil, err
	}
	list, err := c.readList(ctx, key(set))
	if err == nil && list == nil {
		err = gone(set)
	}
	return list, err
}

// Claim keeps a user's context until holder, the unique name of a task or an experiment, releases it. It
// returns NotFound if the user has no such context, and FailedPrecondition if pieces are missing.
func (c *Contexts) Claim(ctx context.Context, tx *store.Tx, holder string, by *apiv1.User, id string) error {
	return c.ClaimAll(ctx, tx, []string{holder}, by, id)
}

// ClaimAll is Claim for several holders.
func (c *Contexts) ClaimAll(ctx context.Context, tx *store.Tx, holders []string, by *apiv1.User, id string) error {
	set, err := setOf(by, id)
	if err != nil {
		return err
	}
	if err := c.renew(ctx, tx, set); err != nil {
		return err
	}
	missing, err := store.MissingBlobs(ctx, tx, set)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return status.New(status.FailedPrecondition, "%d pieces of context %s were not sent; send the context again", len(missing), nameOf(set.Context)[:8])
	}
	claims := make([]store.Doc[struct{}], len(holders))
	for i, holder := range holders {
		claims[i] = store.Doc[struct{}]{ID: holder, Parent: key(set)}
	}
	return docs().claims.PutAll(tx, claims)
}

// Release reverts Claim. A holder without a context is not an error.
func Release(tx *store.Tx, holder string) error { return docs().claims.Delete(tx, holder) }

// HeldBy returns the ID of a holder's context, and "" if it has none.
func (c *Contexts) HeldBy(ctx context.Context, holder string) (id string, err error) {
	d, found, err := docs().claims.Get(ctx, c.cfg.Store, holder)
	if err != nil || !found {
		return "", err
	}
	set, err := readKey(d.Parent)
	return nameOf(set.Context), err
}

// claimedBy returns the context of a holder.
func (c *Contexts) claimedBy(ctx context.Context, holder string) (set store.BlobSet, err error) {
	d, found, err := docs().claims.Get(ctx, c.cfg.Store, holder)
	if err == nil && !found {
		err = fmt.Errorf("the context of %s is missing", holder)
	}
	if err != nil {
		return set, err
	}
	return readKey(d.Parent)
}

// Copy stores the context of a holder as one of another user, and returns its ID.
func (c *Contexts) Copy(ctx context.Context, holder string, to *apiv1.User) (id string, err error) {
	from, err := c.claimedBy(ctx, holder)
	if err != nil {
		return "", err
	}
	files, err := c.readList(ctx, key(from))
	if err != nil {
		return "", err
	}
	announced, err := c.Announce(ctx, to, files)
	if err != nil {
		return "", err
	}
	set, err := setOf(to, announced.GetContextId())
	for _, h := range announced.GetMissing() {
		if err == nil {
			err = c.copyPiece(ctx, from.Owner, to, set, store.Hash(h))
		}
	}
	return announced.GetContextId(), err
}

func (c *Contexts) copyPiece(ctx context.Context, from int32, to *apiv1.User, set store.BlobSet, h store.Hash) error {
	data, err := c.readBlob(ctx, from, h)
	if err == nil {
		_, err = c.putPieces(ctx, to, set, []piece{{h, data}})
	}
	return err
}

func (c *Contexts) readBlob(ctx context.Context, owner int32, h store.Hash) ([]byte, error) {
	data, found, err := store.Blob(ctx, c.cfg.Store, owner, h)
	if err == nil && !found {
		err = fmt.Errorf("piece %s of a context is missing", nameOf(h))
	}
	return data, err
}
