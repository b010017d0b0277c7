package parts

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
	"time"

	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
)

// servedAs writes a self-signed certificate for some names.
func servedAs(t *testing.T, names ...string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tls.crt")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMasterCertName(t *testing.T) {
	t.Parallel()
	const service = "determined-master-service-lab"
	for name, c := range map[string]struct {
		names []string
		host  string
		want  string
	}{
		"the certificate is for users":          {names: []string{"det.example.com"}, want: "det.example.com"},
		"the certificate is for many":           {names: []string{"*.example.com"}, want: "master.example.com"},
		"the certificate is for the Service":    {names: []string{"det.example.com", service + ".ns.svc.cluster.local"}},
		"the certificate has no names":          {},
		"tasks reach the master by another way": {names: []string{"det.example.com"}, host: "ingress.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var env master.Env
			env.Config.Security.TLS.Cert = servedAs(t, c.names...)
			k := config.KubernetesRM{
				MasterImage: "x", MasterScheme: "https", MasterServiceName: service, MasterHost: service + ".ns.svc.cluster.local", MasterPort: 1,
			}
			if c.host != "" {
				k.MasterHost = c.host
			}
			tmpl, err := podTemplate(env, k)
			if err != nil {
				t.Fatal(err)
			}
			if got := tmpl.Master.CertName; got != c.want || len(tmpl.Master.CA) == 0 {
				t.Errorf("got name %q and an authority of %d bytes, want %q and the certificate", got, len(tmpl.Master.CA), c.want)
			}
		})
	}
}
