package shell

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/master/store"
)

type keyRecord struct {
	Seed []byte `json:"seed"`
}

var keys = store.Collection[keyRecord]{Kind: "ssh_host_key"}

// HostKey returns the host key of the cluster. It creates the key if there is none, so that clients recognize
// the cluster from then on. The store must be leased.
func HostKey(ctx context.Context, s *store.Store) (ssh.Signer, error) {
	const id = "current"
	doc, found, err := keys.Get(ctx, s, id)
	if err == nil && !found {
		seed := make([]byte, ed25519.SeedSize)
		_, _ = rand.Read(seed) // it never fails
		doc.Value = keyRecord{Seed: seed}
		err = s.Write(ctx, func(tx *store.Tx) error { return keys.Put(tx, id, "", time.Time{}, doc.Value) })
	}
	if err != nil {
		return nil, fmt.Errorf("read the SSH host key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(doc.Value.Seed))
	if err != nil {
		return nil, fmt.Errorf("read the SSH host key: %w", err)
	}
	return signer, nil
}
