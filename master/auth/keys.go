package auth

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// keyRecord is one signing key as it is stored. Order 0 signs.
type keyRecord struct {
	ID      string    `json:"id"`
	Secret  []byte    `json:"secret"`
	Created time.Time `json:"created"`
}

type ringRecord struct {
	Keys []keyRecord `json:"keys"`
}

var rings = store.Collection[ringRecord]{Kind: "signing_keys"}

func putRing(tx *store.Tx, r token.Ring) error {
	var rec ringRecord
	for _, k := range r {
		rec.Keys = append(rec.Keys, keyRecord(k))
	}
	return rings.Put(tx, "current", "", r[0].Created, rec)
}

func (a *Auth) loadKeys(ctx context.Context) error {
	doc, _, err := rings.Get(ctx, a.cfg.Store, "current")
	for _, k := range doc.Value.Keys {
		a.ring = append(a.ring, token.Key(k))
	}
	return err
}

func (a *Auth) keys() token.Ring {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.ring
}

// RotateKeys makes a new signing key. What was signed by the one before stays good
// until the next rotation; agents that connect meanwhile get a new credential.
func (a *Auth) RotateKeys(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	ring := a.keys().Rotate(token.NewKey(a.cfg.Now()))
	if err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putRing(tx, ring) }); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ring = ring
	return nil
}
