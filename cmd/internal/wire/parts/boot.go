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

// knownCA is the file in which a machine stores the cluster's certificate authority.
const knownCA = "/etc/determined/ca.pem"

// trustOf returns the parameters that machines need to trust this master under a host: the certificate
// authority in PEM, and the name to verify if the certificate is not valid for host. ca is empty if the
// master has no private authority; its certificate is then signed by a public one.
func trustOf(source certificate.Source, host string) (ca, name string, err error) {
	if source == nil { // TLS is terminated before the master
		return "", "", nil
	}
	pair, err := source.Certificate()
	if err != nil {
		return "", "", fmt.Errorf("cannot read the master's certificate: %w", err)
	}
	if len(pair.Certificate) == 0 {
		return "", "", nil
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return "", "", fmt.Errorf("cannot read the master's certificate: %w", err)
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

// rootAuthorities returns the self-signed certificates of all in PEM, because a chain of trust must end in
// one.
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

// agentRuntime returns the container runtime from the agents' configuration, or "".
func agentRuntime(raw document.Raw) string {
	var said struct {
		Runtime string `json:"container_runtime"`
	}
	if json.Unmarshal(raw.JSON(), &said) != nil {
		return ""
	}
	return said.Runtime
}

// agentBoot returns the part of a machine's boot data that is common to all clouds: the master's address,
// the trusted authority and the program to run.
func agentBoot(env master.Env, address string, e provider.Elastic) (templates.AgentBoot, error) {
	b := templates.AgentBoot{
		Cluster: env.ClusterID, Master: address, SHA256: map[string]string{}, Runtime: agentRuntime(e.AgentConfigFileContents),
	}
	u, err := url.Parse(address)
	if err != nil {
		return b, fmt.Errorf("provider.master_url: %w", err)
	}
	b.Proxy = e.Proxy.Environment(u.Hostname())
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
