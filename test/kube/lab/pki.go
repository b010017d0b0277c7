package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// identity is the holder of a certificate.
type identity struct {
	file, name string
	groups     []string
	// hosts are the names and addresses of a server; a client has none.
	hosts []string
	// kubeconfig is true for a client of the API server.
	kubeconfig bool
}

func (l *Lab) identities(real bool) []identity {
	server := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "127.0.0.1", l.serviceIP,
	}
	node := []string{NodeName, "localhost", "127.0.0.1"}
	if real {
		server, node = append(server, l.nodeIP), append(node, l.nodeIP)
	}
	kubelet := "system:node:" + NodeName
	return []identity{
		{"apiserver", "kube-apiserver", nil, server, false},
		{"kubelet-serving", kubelet, []string{"system:nodes"}, node, false},
		{"apiserver-kubelet-client", "kube-apiserver-kubelet-client", []string{"system:masters"}, nil, false},
		{"admin", "kubernetes-admin", []string{"system:masters"}, nil, true},
		{"controller-manager", "system:kube-controller-manager", nil, nil, true},
		{"scheduler", "system:kube-scheduler", nil, nil, true},
		{"kube-proxy", "system:kube-proxy", nil, nil, true},
		{"kubelet", kubelet, []string{"system:nodes"}, nil, true},
	}
}

// makePKI writes every certificate and kubeconfig of one cluster.
func (l *Lab) makePKI(s state) error {
	ca, err := l.newAuthority("ca", "kubelab-ca")
	if err != nil {
		return err
	}
	front, err := l.newAuthority("front-proxy-ca", "kubelab-front-proxy-ca")
	if err != nil {
		return err
	}
	if _, _, err := l.newKey("sa"); err != nil {
		return err
	}
	for _, who := range l.identities(s.real()) {
		cert, key, err := l.issue(ca, who)
		if err != nil {
			return err
		}
		if who.kubeconfig {
			err = writeKubeconfig(l.path(who.file+".kubeconfig"), s.server(), ca.pem, cert, key)
		}
		if err == nil && who.file == "admin" {
			err = writeKubeconfig(l.Kubeconfig(), s.server(), ca.pem, cert, key)
		}
		if err != nil {
			return err
		}
	}
	_, _, err = l.issue(front, identity{file: "front-proxy-client", name: "front-proxy-client"})
	return err
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func (l *Lab) newAuthority(file, name string) (authority, error) {
	key, _, err := l.newKey(file)
	if err != nil {
		return authority{}, err
	}
	t := certificate(name, nil)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	a := authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	return a, os.WriteFile(l.path("pki", file+".crt"), a.pem, 0o644)
}

func (l *Lab) issue(a authority, who identity) (cert, key []byte, err error) {
	k, key, err := l.newKey(who.file)
	if err != nil {
		return nil, nil, err
	}
	t := certificate(who.name, who.groups)
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(who.hosts) > 0 {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range who.hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, &k.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return cert, key, os.WriteFile(l.path("pki", who.file+".crt"), cert, 0o644)
}

func (l *Lab) newKey(file string) (*ecdsa.PrivateKey, []byte, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(k)
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return k, text, errors.Join(err, os.WriteFile(l.path("pki", file+".key"), text, 0o600))
}

// certificate returns a template that is valid for a year, longer than any test.
func certificate(name string, groups []string) *x509.Certificate {
	serial := make([]byte, 15)
	rand.Read(serial) // it never fails
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func writeKubeconfig(path, server string, ca, cert, key []byte) error {
	const name = "kubelab"
	return clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{name: {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*api.AuthInfo{name: {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
}
