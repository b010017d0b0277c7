package k8s

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

func TestSelfSigned(t *testing.T) {
	t.Parallel()
	root := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour),
	}
	leaf := x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotAfter: time.Now().Add(time.Hour)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(c *x509.Certificate) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, &root, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	self, other := signed(&root), signed(&leaf)
	for _, test := range []struct {
		name        string
		chain, want []byte
	}{
		{"one that signs itself", self, self},
		{"one that somebody else signs", other, nil},
		{"a chain up to its root", append(bytes.Clone(other), self...), self},
		{"what is no certificate", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), nil},
		{"nothing", nil, nil},
	} {
		if got := selfSigned(test.chain); !bytes.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
