package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config/security"
)

func newPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func TestOpenReadsCertificateFromFilesAndSecrets(t *testing.T) {
	t.Parallel()
	cert, key := newPair(t)
	file := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, []byte(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{"PAIR": key + cert, "KEY": key, "OTHER": "no key at all"}
	from := secret.Resolver{LookupEnv: func(name string) (string, bool) { v, ok := kept[name]; return v, ok }}
	for _, tc := range []struct {
		name string
		tls  security.TLS
		ok   bool
	}{
		{"both in one secret", security.TLS{Cert: "env:PAIR", Key: "env:PAIR"}, true},
		{"a file and a secret", security.TLS{Cert: file, Key: "env:KEY"}, true},
		{"a secret that is no key", security.TLS{Cert: file, Key: "env:OTHER"}, false},
		{"a secret that is not there", security.TLS{Cert: file, Key: "env:NONE"}, false},
		{"an invalid reference", security.TLS{Cert: file, Key: "aws-sm:"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			source, err := openPair(t.Context(), tc.tls, from)
			if got := err == nil; got != tc.ok {
				t.Fatalf("got %v, want read %v", err, tc.ok)
			}
			if tc.ok {
				if pair, err := source.Certificate(); err != nil || len(pair.Certificate) != 1 {
					t.Errorf("got %v and %v, want the certificate", pair, err)
				}
			}
		})
	}
}
