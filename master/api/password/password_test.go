package password_test

import (
	"crypto/sha512"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/password"
)

func TestStrong(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"Abcdefg1": true, "Ünicode-Aa1": true, "": false, "short": false, "Abcdef1": false,
		"abcdefg1": false, "ABCDEFG1": false, "Abcdefgh": false, "Äbcdefg1": false,
	} {
		if got := password.Strong(p); got != want {
			t.Errorf("%q: got %t, want %t", p, got, want)
		}
	}
}

func TestIsHash(t *testing.T) {
	t.Parallel()
	h := password.Hash("short")
	if !password.IsHash(h) {
		t.Errorf("%s is no hash", h)
	}
	// The hash that the det client would send for an empty password if it hashed that.
	nothing := sha512.Sum512([]byte("GubPEmmotfiK9TMD6Zdw"))
	for _, sent := range []string{"", "short", "Abcdefg1", strings.ToUpper(h), h + "00", h[2:], hex.EncodeToString(nothing[:])} {
		if password.IsHash(sent) {
			t.Errorf("%q is a hash", sent)
		}
	}
	if got := password.Hash(""); got != "" {
		t.Errorf("got %q for the empty password, want it empty", got)
	}
	if got := password.Hash("x"); len(got) != 128 {
		t.Errorf("got %d hex digits, want the 128 of a SHA-512", len(got))
	}
}
