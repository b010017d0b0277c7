package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/internal/pki"
)

// The files of a certificate, in the directory tls.
const (
	authorityFile   = "ca.pem"
	certificateFile = "cert.pem"
	keyFile         = "key.pem"
)

// ownKey returns the key of the user's certificate. If its reference leads nowhere any more, it is the
// stored one, provided that it is the certificate's.
func (t *Target) ownKey(ctx context.Context) ([]byte, error) {
	given, err := secret.Resolver{}.Resolve(ctx, t.Spec.OwnTLS.Key)
	if err == nil {
		return []byte(given.Reveal() + "\n"), nil
	}
	stored, readErr := os.ReadFile(t.Place.pathOf("tls", keyFile))
	if readErr != nil {
		return nil, err
	}
	if _, _, openErr := (pki.Pair{Certificate: []byte(t.Spec.OwnTLS.Certificate), Key: stored}).Open(); openErr != nil {
		return nil, err
	}
	return stored, nil
}

// ownFiles returns the files of the user's certificate.
func (t *Target) ownFiles(ctx context.Context) (map[string][]byte, error) {
	key, err := t.ownKey(ctx)
	if err != nil {
		return nil, err
	}
	own := t.Spec.OwnTLS
	return map[string][]byte{authorityFile: own.Authority(), certificateFile: []byte(own.Certificate), keyFile: key}, nil
}

// checkCertificate passes if the master can use the user's certificate and its clients accept it.
func (t checks) checkCertificate(ctx context.Context) doctor.Result {
	const needed = "a valid certificate of the name that clients expect, with its key"
	const fix = "give new files with --tls-cert-file and --tls-key, and the name with --tls-name"
	key, err := t.ownKey(ctx)
	if err == nil {
		err = t.Spec.OwnTLS.CheckUse(key, time.Now())
	}
	if err != nil {
		return doctor.Failed(err.Error(), needed, fix)
	}
	day, soon := t.Spec.OwnTLS.Expiry(time.Now())
	if soon {
		return doctor.Unsure("it expires on "+day, needed, fix)
	}
	return doctor.Passed("%s, until %s", t.Spec.OwnTLS.Name, day)
}

// findGiven compares the stored files with the user's.
func (c *certificates) findGiven(ctx context.Context) ([]resource.Drift, error) {
	given, err := c.given(ctx)
	if err != nil {
		return nil, err
	}
	var drift []resource.Drift
	for _, name := range []string{certificateFile, keyFile, authorityFile} {
		have, err := os.ReadFile(filepath.Join(c.dir, name))
		if err == nil && bytes.Equal(have, given[name]) {
			continue
		}
		d := resource.Drift{Path: name, Have: "another one", Want: "the given one"}
		if name == certificateFile {
			d.Have, d.Want = "until "+expiryOf(have), "until "+expiryOf(given[name])
			d.Digest = digestOf(have) + " " + digestOf(given[name])
		}
		drift = append(drift, d)
	}
	return drift, nil
}

func expiryOf(chain []byte) string { return pki.Expiry(chain).Format(time.DateOnly) }

// CertificateExpiry returns when the master's certificate expires, or zero without TLS.
func (t *Target) CertificateExpiry() time.Time {
	chain, err := os.ReadFile(t.Place.pathOf("tls", certificateFile))
	if !t.Spec.TLS || err != nil {
		return time.Time{}
	}
	return pki.Expiry(chain)
}
