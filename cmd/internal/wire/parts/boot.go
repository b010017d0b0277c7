package parts

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/templates"
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

// agentBoot is what a machine boots from, as far as no cloud matters: where its master
// is, whom to trust, and which program to run.
func agentBoot(env master.Env, address string, e provider.Elastic) (templates.AgentBoot, error) {
	b := templates.AgentBoot{
		Cluster: env.ClusterID, Master: address, SHA256: map[string]string{}, Runtime: agentRuntime(e.AgentConfigFileContents),
	}
	u, err := url.Parse(address)
	if err != nil {
		return b, fmt.Errorf("provider.master_url: %w", err)
	}
	if u.Scheme == "https" {
		if b.CA, b.Name, err = trustOf(env.Certificate, u.Hostname()); err != nil {
			return b, err
		}
		b.Name = cmp.Or(e.MasterCertName, b.Name)
	}
	for platform, sum := range env.Programs() {
		if arch, linux := strings.CutPrefix(platform, "linux-"); linux {
			b.SHA256[arch] = sum
		}
	}
	return b, nil
}
