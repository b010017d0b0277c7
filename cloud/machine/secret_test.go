package machine_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

func TestSecretProofIsBoundToMachineClusterAndTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	mine, theirs := machine.NewSecret("m-1"), machine.NewSecret("m-1")
	p, err := mine.Prove("lab", now)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := machine.Claimed(p.Data); got != "m-1" || err != nil || p.Kind != machine.SecretKind || p.Instance != "m-1" {
		t.Errorf("claims: got %s, %v and %+v; want m-1", got, err, p)
	}
	renamed := bytes.Replace(p.Data, []byte("m-1"), []byte("m-2"), 1)
	later := bytes.Replace(p.Data, []byte(`"expires":1800000060`), []byte(`"expires":1800000090`), 1)
	for _, c := range []struct {
		name     string
		secret   machine.Secret
		data     []byte
		audience string
		now      time.Time
		want     string
	}{
		{"good", mine, p.Data, "lab", now, ""},
		{"good until its end", mine, p.Data, "lab", now.Add(machine.ProofLife - time.Second), ""},
		{"another machine's secret", theirs, p.Data, "lab", now, "not made by the claimed machine"},
		{"another cluster", mine, p.Data, "prod", now, `for cluster "lab"`},
		{"expired", mine, p.Data, "lab", now.Add(machine.ProofLife), "expired"},
		{"from the future", mine, p.Data, "lab", now.Add(-time.Hour), "clocks"},
		{"renamed", mine, renamed, "lab", now, "not made by the claimed machine"},
		{"prolonged", mine, later, "lab", now, "not made by the claimed machine"},
		{"nonsense", mine, []byte("x"), "lab", now, "not a machine's proof"},
		{"nothing", mine, nil, "lab", now, "not a machine's proof"},
	} {
		_, err := c.secret.Check(c.data, c.audience, c.now)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestSecretRoundTripsAndIsRedacted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	s := machine.NewSecret("m-1")
	if err := os.WriteFile(file, s.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := machine.SecretFile(file).Proof(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(p.Data, "lab", time.Now()); err != nil {
		t.Errorf("a proof by the file: got %v, want it good", err)
	}
	key := strings.TrimSpace(strings.TrimPrefix(string(s.Text()), "m-1 "))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, s); strings.Contains(got, key) {
			t.Errorf("%s: got %s, want it without the key", verb, got)
		}
	}
	if _, err := machine.SecretFile(file+"x").Proof(t.Context(), "lab"); err == nil {
		t.Error("no file: got no error, want one")
	}
}

func TestReencodedProofHasSameID(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := machine.NewSecret("m-1")
	p, err := s.Prove("lab", now)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Check(p.Data, "lab", now)
	if err != nil || want == "" {
		t.Fatalf("got %q, %v", want, err)
	}
	text := string(p.Data)
	for name, data := range map[string]string{
		"with blanks":           strings.ReplaceAll(text, ",", " ,\n\t"),
		"with other capitals":   strings.Replace(text, `"nonce"`, `"NONCE"`, 1),
		"with more in it":       strings.Replace(text, `{`, `{"more":1,`, 1),
		"with a field twice":    strings.Replace(text, `{`, `{"nonce":"x",`, 1),
		"with escapes":          strings.Replace(text, `"m-1"`, `"\u006d-1"`, 1),
		"with breaks in base64": strings.Replace(text, `"mac":"`, `"mac":"\r\n`, 1),
	} {
		if got, err := s.Check([]byte(data), "lab", now); err == nil && got != want {
			t.Errorf("%s: got %q, want %q or a refusal", name, got, want)
		}
	}
	other, err := s.Prove("lab", now)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Check(other.Data, "lab", now); err != nil || got == want {
		t.Errorf("another proof: got %q, %v; want another than %q", got, err, want)
	}
}
