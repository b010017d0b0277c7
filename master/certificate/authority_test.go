package certificate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/pki"
)

func TestTheLeafIsRenewedAndTheAuthorityStays(t *testing.T) {
	t.Parallel()
	dir, now := filepath.Join(t.TempDir(), "tls"), time.Now()
	clock := func() time.Time { return now }
	open := func(names ...string) (*Authority, string, string) {
		t.Helper()
		a, err := OpenAuthority(dir, names, clock)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := a.Certificate()
		if err != nil {
			t.Fatal(err)
		}
		return a, leaf.Leaf.SerialNumber.String(), string(a.ca.Certificate)
	}
	a, first, ca := open("10.0.0.1", "m")
	if _, again, sameCA := open("m", "10.0.0.1"); again != first || sameCA != ca {
		t.Error("a restart made a new certificate")
	}
	if _, other, sameCA := open("m", "10.0.0.2"); other == first || sameCA != ca {
		t.Error("other names did not make a new leaf of the same authority")
	}
	now = now.Add(pki.LeafLife - pki.RenewBefore + time.Minute)
	if leaf, err := a.Certificate(); err != nil || leaf.Leaf.SerialNumber.String() == first {
		t.Errorf("got the old leaf two months before its end, %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a key for its owner only", info.Mode(), err)
	}
	if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir, nil, clock); err == nil {
		t.Error("a lost key made a new authority, want an error")
	}
}

func TestFilesAreReloaded(t *testing.T) {
	t.Parallel()
	ca, err := OpenAuthority(filepath.Join(t.TempDir(), "tls"), nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFiles(ca.path("master.crt"), ca.path("master.key"))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := f.Certificate()
	f.looked, f.stamp = time.Time{}, time.Time{} // as after a minute and a change
	after, err := f.Certificate()
	if err != nil || after == before {
		t.Errorf("got %v, want the certificate read again", err)
	}
	f.looked = time.Time{}
	if err := os.Remove(ca.path("master.crt")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Certificate(); err != nil || got != after {
		t.Errorf("got %v, want the certificate from before", err)
	}
	if _, err := NewFiles(ca.path("master.crt"), ca.path("master.key")); err == nil {
		t.Error("missing files are taken, want an error")
	}
}
