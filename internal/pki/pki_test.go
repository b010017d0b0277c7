package pki_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/pki"
)

func TestALeafIsRenewedInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ca, err := pki.NewAuthority("lab", now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pki.NewAuthority("lab", now)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ca.NewLeaf("master", []string{"master.lab", "10.0.0.1", ""}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	later := now.Add(pki.LeafLife - pki.RenewBefore + time.Minute)
	for _, tt := range []struct {
		name      string
		authority []byte
		hosts     []string
		now       time.Time
		want      string
	}{
		{"new", ca.Certificate, []string{"master.lab", "10.0.0.1", ""}, now, ""},
		{"for a machine whose clock is behind", ca.Certificate, nil, now.Add(-59 * time.Minute), ""},
		{"on a machine that boots with the clock of its making", ca.Certificate, nil, now.AddDate(-20, 0, 0), ""},
		{"another address", ca.Certificate, []string{"10.0.0.2"}, now, "not valid for 10.0.0.2"},
		{"another authority of the same name", other.Certificate, nil, now, "not signed by the cluster's CA"},
		{"two months before its end", ca.Certificate, nil, later, "expires on " + leaf.NotAfter.Format(time.DateOnly)},
	} {
		if got := pki.Stale(leaf, tt.authority, tt.hosts, tt.now); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPairRoundTripsAsText(t *testing.T) {
	t.Parallel()
	ca, err := pki.NewAuthority("lab", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p, err := ca.NewLeaf("master", []string{"m"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	again := pki.Split(p.Text())
	if !bytes.Equal(again.Key, p.Key) || !bytes.Equal(again.Certificate, p.Certificate) {
		t.Error("the pair is another one after Text and Split")
	}
	if n := bytes.Count(p.Certificate, []byte("BEGIN CERTIFICATE")); n != 2 {
		t.Errorf("got a chain of %d certificates, want the leaf and the authority", n)
	}
	if _, _, err := (pki.Pair{Certificate: ca.Certificate, Key: p.Key}).Open(); err == nil {
		t.Error("a key and the certificate of another one were opened")
	}
}
