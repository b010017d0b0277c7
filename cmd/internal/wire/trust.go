package wire

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/certificate"
)

// knownCA is where a machine keeps the cluster's authority when it was told of it.
const knownCA = "/etc/determined/ca.pem"

// trustOf is what machines need to trust this master under a host: the authority
// behind its certificate, in PEM, and the name to ask for when the host is not in
// it. Without an authority of its own it is one that all machines know.
func trustOf(source certificate.Source, host string) (ca, name string, err error) {
	if source == nil { // TLS ends before the master
		return "", "", nil
	}
	pair, err := source.Certificate()
	if err != nil {
		return "", "", fmt.Errorf("read the master's certificate: %w", err)
	}
	if len(pair.Certificate) == 0 {
		return "", "", nil
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return "", "", fmt.Errorf("read the master's certificate: %w", err)
	}
	if leaf.VerifyHostname(host) != nil && len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	ca = rootAuthorities(pair.Certificate)
	if text, err := os.ReadFile(knownCA); ca == "" && err == nil {
		var all [][]byte
		for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
			all = append(all, b.Bytes)
		}
		ca = rootAuthorities(all)
	}
	return ca, name, nil
}

// rootAuthorities are those of some certificates that sign themselves, in PEM: what
// is trusted must end in one.
func rootAuthorities(all [][]byte) string {
	var out []byte
	for _, der := range all {
		c, err := x509.ParseCertificate(der)
		if err == nil && c.CheckSignatureFrom(c) == nil {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		}
	}
	return string(out)
}

// agentRuntime is how agents run containers, as far as their configuration says.
func agentRuntime(raw document.Raw) string {
	var said struct {
		Runtime string `json:"container_runtime"`
	}
	if json.Unmarshal(raw.JSON(), &said) != nil {
		return ""
	}
	return said.Runtime
}
