package bundle

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// Collect deletes the contexts without claims whose last call was more than Keep before now, with the
// pieces that no other context of the user includes. It returns their number.
func (c *Contexts) Collect(ctx context.Context, now time.Time) (deleted int, err error) {
	before := now.Add(-Keep)
	list, err := docs().contexts.Before(ctx, c.cfg.Store, before)
	if err != nil {
		return 0, err
	}
	for _, d := range list {
		leaves, err := c.beginLeaving(ctx, d.ID, before)
		if err == nil && leaves {
			err = c.finishLeaving(ctx, d.ID)
			deleted++
		}
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// beginLeaving marks a context as leaving, so that it cannot be claimed, if it may be deleted.
func (c *Contexts) beginLeaving(ctx context.Context, k string, before time.Time) (leaves bool, err error) {
	n, err := docs().claims.CountByParent(ctx, c.cfg.Store, k)
	if err != nil || n > 0 {
		return false, err
	}
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		leaves = false
		n, err := docs().claims.CountByParent(ctx, tx, k)
		if err != nil || n > 0 {
			return err
		}
		d, found, err := docs().contexts.Get(ctx, tx, k)
		if err != nil || !found || !d.At.Before(before) {
			return err
		}
		d.Value.Leaving = true
		leaves, err = docs().contexts.Replace(tx, k, d.Value)
		return err
	})
	return leaves, err
}

// leaveTogether is the number of pieces that one transaction deletes: few enough that other writers
// hardly wait.
const leaveTogether = 32

// finishLeaving deletes a context, unless it is announced meanwhile.
func (c *Contexts) finishLeaving(ctx context.Context, k string) error {
	set, err := readKey(k)
	for more := true; more && err == nil; {
		err = c.cfg.Store.Write(ctx, func(tx *store.Tx) (err error) {
			more, err = c.leaveSome(ctx, tx, set)
			return err
		})
	}
	return err
}

// leaveSome deletes some pieces, or the context if none is left. It reports whether there is more to do.
func (c *Contexts) leaveSome(ctx context.Context, tx *store.Tx, set store.BlobSet) (more bool, err error) {
	d, found, err := docs().contexts.Get(ctx, tx, key(set))
	if err != nil || !found || !d.Value.Leaving {
		return false, err
	}
	pieces, err := store.FirstBlobRefs(ctx, tx, set, leaveTogether)
	if err != nil {
		return false, err
	}
	var bytes int64
	for _, h := range pieces {
		n, err := store.DropBlobRef(tx, set, h)
		if err != nil {
			return false, err
		}
		bytes += n
	}
	if len(pieces) > 0 {
		c.cfg.Quota.Add(tx, set.Owner, quota.Contexts, -bytes)
		return true, nil
	}
	c.cfg.Quota.Add(tx, set.Owner, quota.Contexts, -d.Value.ListBytes)
	if err := docs().lists.Delete(tx, key(set)); err != nil {
		return false, err
	}
	return false, docs().contexts.Delete(tx, key(set))
}
