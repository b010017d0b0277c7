package pki_test

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/pki"
)

func TestCheckGiven(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ca, err := pki.NewAuthority("example", now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pki.NewAuthority("example", now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.NewLeaf("det", []string{"det.example.org", "10.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name             string
		chain, authority []byte
		host             string
		now              time.Time
		want             string
	}{
		{"valid", leaf.Certificate, ca.Certificate, "det.example.org", now, ""},
		{"valid for an address", leaf.Certificate, pki.Last(leaf.Certificate), "10.0.0.1", now, ""},
		{"not a certificate", leaf.Key, ca.Certificate, "det.example.org", now, "there is no certificate"},
		{"expired", leaf.Certificate, ca.Certificate, "det.example.org", now.Add(pki.LeafLife + time.Hour), "it expired on 2028-04-06"},
		{"not valid yet", leaf.Certificate, ca.Certificate, "det.example.org", now.AddDate(0, 0, -1), "valid only from 2026-01-02"},
		{"another name", leaf.Certificate, ca.Certificate, "other.example.org", now, "not valid for other.example.org, but for det.example.org, 10.0.0.1"},
		{"another authority", leaf.Certificate, other.Certificate, "det.example.org", now, "no certificate that clients trust"},
	} {
		got := ""
		if err := pki.CheckGiven(tt.chain, tt.authority, tt.host, tt.now); err != nil {
			got = err.Error()
		}
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
