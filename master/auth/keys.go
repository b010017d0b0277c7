package auth

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// keyRecord is a stored signing key. The key with order 0 signs.
type keyRecord struct {
	ID      string    `json:"id"`
	Secret  []byte    `json:"secret"`
	Created time.Time `json:"created"`
}

type ringRecord struct {
	Keys []keyRecord `json:"keys"`
}

var rings = store.Collection[ringRecord]{Kind: "signing_keys"}

// signingKeys are the keys that sign join tokens and credentials.
type signingKeys struct {
	*shared

	mu   sync.RWMutex
	ring token.Ring
}

func putRing(tx *store.Tx, r token.Ring) error {
	var rec ringRecord
	for _, k := range r {
		rec.Keys = append(rec.Keys, keyRecord(k))
	}
	return rings.Put(tx, "current", "", r[0].Created, rec)
}

func (k *signingKeys) loadKeys(ctx context.Context) error {
	doc, _, err := rings.Get(ctx, k.cfg.Store, "current")
	for _, rec := range doc.Value.Keys {
		k.ring = append(k.ring, token.Key(rec))
	}
	return err
}

func (k *signingKeys) currentKey() token.Ring {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ring
}

// RotateKeys creates a new signing key. The previous key stays valid until the next rotation;
// agents that connect meanwhile get a new credential.
func (k *signingKeys) RotateKeys(ctx context.Context) error {
	k.change.Lock()
	defer k.change.Unlock()
	ring := k.currentKey().Rotate(token.NewKey(k.cfg.Now()))
	if err := k.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putRing(tx, ring) }); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ring = ring
	return nil
}
