package auth

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/argon2"

	"github.com/det-deploy/det-deploy/master/api/password"
)

// outdatedHash returns a hash of earlier versions: 19 MiB, 2 passes.
func outdatedHash(text string) string {
	salt := []byte("0123456789abcdef")
	h := argon2.IDKey([]byte(password.Hash(text)), salt, 2, 19<<10, 1, hashBytes)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=19$m=19456,t=2,p=1$%s$%s", encode(salt), encode(h))
}

// TestALoginRenewsAnOutdatedHash has several concurrent logins of one user. The first renews the
// hash that the others compare with.
func TestALoginRenewsAnOutdatedHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, _ := w.accounts.users.findUser(1)
	old := u.userRecord
	old.Hash = outdatedHash(first)
	if _, err := w.writeUser(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := w.login(t.Context(), "admin", first+"x"); err == nil {
		t.Error("a wrong password logs in")
	}
	if u, _ = w.accounts.users.findUser(1); u.Hash != old.Hash {
		t.Errorf("a wrong password renews the hash: %s", u.Hash)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := w.login(t.Context(), "admin", first); err != nil {
				t.Errorf("with an outdated hash: %v", err)
			}
		})
	}
	all.Wait()
	w.restart(t)
	if u, _ = w.accounts.users.findUser(1); isOutdated(u.Hash) || !strings.HasPrefix(u.Hash, hashCost()) {
		t.Errorf("the hash is still %s", u.Hash)
	}
	w.must(t, "admin", first)
	if again, _ := w.accounts.users.findUser(1); again.Hash != u.Hash {
		t.Error("a hash of today's cost is renewed")
	}
}

func TestIsOutdated(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{blank, locked, hashPassword("x")} {
		if isOutdated(stored) {
			t.Errorf("%q is outdated", stored)
		}
	}
	if !isOutdated(outdatedHash("x")) {
		t.Error("19 MiB and 2 passes are not outdated")
	}
}
