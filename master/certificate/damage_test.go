package certificate

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/pki"
)

func half(b []byte) []byte { return b[:len(b)/2] }
func none([]byte) []byte   { return nil }

// harm modifies a file, or deletes it if how is nil.
func harm(t *testing.T, path string, how func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if how == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, how(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedCAIsReported(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC) }
	other := t.TempDir()
	if _, err := OpenAuthority(other, nil, now); err != nil {
		t.Fatal(err)
	}
	foreign := func(name string) func([]byte) []byte {
		b, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		return func([]byte) []byte { return b }
	}
	for _, tt := range []struct {
		name, file string
		how        func([]byte) []byte
		want       string
	}{
		{"empty key", "ca.key", none, "it is empty"},
		{"half a key", "ca.key", half, "it ends in the middle of a block"},
		{"no key", "ca.key", nil, "no such file"},
		{"zeros for a key", "ca.key", func(b []byte) []byte { return make([]byte, len(b)) }, "it contains no PRIVATE KEY"},
		{"another's key", "ca.key", foreign("ca.key"), "it does not match the certificate"},
		{"empty certificate", "ca.crt", none, "it is empty"},
		{"half a certificate", "ca.crt", half, "it ends in the middle of a block"},
		{"a certificate that is gone", "ca.crt", nil, "no such file"},
		{"no authority's certificate", "ca.crt", foreign("ca.key"), "it contains no CERTIFICATE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if _, err := OpenAuthority(dir, nil, now); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(dir, "master.crt"))
			if err != nil {
				t.Fatal(err)
			}
			harm(t, filepath.Join(dir, tt.file), tt.how)
			_, err = OpenAuthority(dir, nil, now)
			d, ok := errors.AsType[*atomicfile.DamagedError](err)
			if !ok || d.Path != filepath.Join(dir, tt.file) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "restore ca.crt and ca.key") {
				t.Errorf("got %v, want %s: %s", err, tt.file, tt.want)
			}
			if after, err := os.ReadFile(filepath.Join(dir, "master.crt")); err != nil || string(after) != string(before) {
				t.Errorf("the leaf was made again by another authority (%v)", err)
			}
		})
	}
}

func TestIncompleteCAIsRecreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir, nil, time.Now); err != nil {
		t.Error(err)
	}
}

func TestDamagedLeafIsReissuedByTheSameCA(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"master.key", "master.crt"} {
		for name, how := range map[string]func([]byte) []byte{"empty": none, "half": half, "gone": nil} {
			dir := t.TempDir()
			a, err := OpenAuthority(dir, nil, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			harm(t, filepath.Join(dir, file), how)
			b, err := OpenAuthority(dir, nil, time.Now)
			if err != nil {
				t.Fatalf("%s %s: %v", name, file, err)
			}
			if leaf, err := b.Certificate(); err != nil || pki.Stale(leaf.Leaf, a.ca.Certificate, nil, time.Now()) != "" {
				t.Errorf("%s %s: got a leaf of another authority, %v", name, file, err)
			}
			if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "master.crt"), filepath.Join(dir, "master.key")); err != nil {
				t.Errorf("%s %s: %v", name, file, err)
			}
		}
	}
}

func TestDamagedCertificateIsReported(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"master.key", "master.crt"} {
		for want, how := range map[string]func([]byte) []byte{
			"it is empty": none, "it ends in the middle of a block": half, "no such file": nil,
			// The leaf is complete, but its chain is not.
			"in the middle": func(b []byte) []byte { return b[:len(b)-40] },
		} {
			dir := t.TempDir()
			if _, err := OpenAuthority(dir, nil, time.Now); err != nil {
				t.Fatal(err)
			}
			harm(t, filepath.Join(dir, file), how)
			_, err := NewFiles(filepath.Join(dir, "master.crt"), filepath.Join(dir, "master.key"))
			d, ok := errors.AsType[*atomicfile.DamagedError](err)
			if !ok || d.Path != filepath.Join(dir, file) || !strings.Contains(err.Error(), want) || d.Fix == "" {
				t.Errorf("%s: got %v, want %q", file, err, want)
			}
		}
	}
}
