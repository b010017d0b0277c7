package local_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/installer/target/local"
	"github.com/det-deploy/det-deploy/internal/pki"
)

// giveCertificate makes a certificate for name and gives it to the cluster. It returns the key's file.
func giveCertificate(t *testing.T, m *machine, name string, now time.Time) string {
	t.Helper()
	ca, err := pki.NewAuthority("example", now)
	must(t, err)
	leaf, err := ca.NewLeaf(name, []string{name}, now)
	must(t, err)
	key := filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(key, leaf.Key, 0o600))
	m.settings[local.CertSetting], m.settings[local.NameSetting] = string(leaf.Certificate), name
	m.settings[local.KeySetting] = "file:" + key
	return key
}

func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	key := giveCertificate(t, m, "det.example.org", time.Now())
	must(t, m.up(t.Context()))
	wantNothingToDo(t, m)
	must(t, os.Remove(key)) // the cluster has a copy
	wantNothingToDo(t, m)
	recovered, err := m.place().Recover()
	must(t, err)
	if recovered[local.CertSetting] != m.settings[local.CertSetting] || recovered[local.NameSetting] != "det.example.org" || recovered[local.TLSSetting] != "true" {
		t.Errorf("recovered %v", recovered)
	}

	giveCertificate(t, m, "new.example.org", time.Now().AddDate(0, 0, 3))
	p, err := m.plan(t.Context())
	must(t, err)
	if got := diffOf(p, "local/secret/tls"); !strings.HasPrefix(got, "cert.pem: until ") || strings.Contains(got, "PRIVATE") {
		t.Errorf("got %q, want both expiries and no key", got)
	}
	if got := diffOf(p, "local/agent/1"); !strings.Contains(got, "certificate: in use → the renewed one") {
		t.Errorf("got %q, want that the agent learns the new authority", got)
	}
	giveCertificate(t, m, "new.example.org", time.Now())
	must(t, m.up(t.Context()))
	wantNothingToDo(t, m)

	for _, name := range []string{local.CertSetting, local.KeySetting, local.NameSetting} {
		m.settings[name] = ""
	}
	m.settings[local.TLSSetting] = "true"
	must(t, m.up(t.Context())) // with a certificate of the cluster's own authority
	wantNothingToDo(t, m)
}

func TestChecksOfAnOwnCertificate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		made   time.Time
		change func(m *machine, key string)
		want   string
	}{
		"valid":       {time.Now(), func(*machine, string) {}, ""},
		"expired":     {time.Now().AddDate(-4, 0, 0), func(*machine, string) {}, "it expired on "},
		"no key file": {time.Now(), func(_ *machine, key string) { _ = os.Remove(key) }, "the file does not exist"},
		"another key": {time.Now(), func(m *machine, _ string) {
			was := m.settings[local.CertSetting]
			giveCertificate(t, m, "det.example.org", time.Now())
			m.settings[local.CertSetting] = was
		}, "the given key is not its private key"},
		"another name": {time.Now(), func(m *machine, _ string) { m.settings[local.NameSetting] = "other" }, "it is not valid for other, but for det.example.org"},
	} {
		m := newMachine(t)
		tt.change(m, giveCertificate(t, m, "det.example.org", tt.made))
		if got := certificateProblem(t.Context(), t, m); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if left := m.left(t); len(left) != 0 {
			t.Errorf("%s: got %v, want nothing", name, left)
		}
	}
}

// certificateProblem returns the result of the check of the certificate unless it passes.
func certificateProblem(ctx context.Context, t *testing.T, m *machine) string {
	t.Helper()
	in, err := m.installer()
	must(t, err)
	for _, r := range in.Check(ctx).Results {
		if r.Name == "certificate" && r.Answer != "pass" {
			return r.Found
		}
	}
	return ""
}

func TestOwnCertificateNeedsKeyAndName(t *testing.T) {
	t.Parallel()
	settings := local.Flags().Defaults()
	settings[local.CertSetting] = "no certificate"
	settings[local.KeySetting] = "aws-sm:key"
	_, err := local.FromSettings("lab", settings)
	for _, want := range []string{"--tls-name", "is required with a certificate", "--tls-cert-file", "PEM", "--tls-key", "file:/path or env:NAME"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
