package aws_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/internal/pki"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// certificateFlags returns the flags of a certificate for det.example.org that was made at a time.
func certificateFlags(t *testing.T, made time.Time, name string) []string {
	t.Helper()
	ca, err := pki.NewAuthority("example", made)
	must(t, err)
	leaf, err := ca.NewLeaf("det", []string{"det.example.org"}, made)
	must(t, err)
	key := filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(key, leaf.Key, 0o600))
	return []string{"tls-cert-file", string(leaf.Certificate), "tls-key", "file:" + key, "tls-name", name}
}

func TestOwnCertificateIsChecked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	valid, another := certificateFlags(t, now, "det.example.org"), certificateFlags(t, now, "det.example.org")
	for name, tc := range map[string]struct {
		flags []string
		want  doctor.Answer
		found string
	}{
		"valid":        {valid, doctor.Pass, "det.example.org, until "},
		"expired":      {certificateFlags(t, now.AddDate(-4, 0, 0), "det.example.org"), doctor.Fail, "it expired on "},
		"soon":         {certificateFlags(t, now.Add(24*time.Hour-pki.LeafLife), "det.example.org"), doctor.Unknown, "it expires on "},
		"another name": {certificateFlags(t, now, "other"), doctor.Fail, "it is not valid for other, but for det.example.org"},
		"another key":  {append(valid[:2:2], append(another[2:4:4], valid[4:]...)...), doctor.Fail, "the given key is not its private key"},
	} {
		r := check(t, newStage(inMemory(awstest.Options{}), tc.flags...))["certificate"]
		if r.Answer != tc.want || !strings.HasPrefix(r.Found, tc.found) {
			t.Errorf("%s: got %s: %s, want %s: %s", name, r.Answer, r.Found, tc.want, tc.found)
		}
	}
}
