package local

import (
	"crypto/x509"
	"os"
	"slices"

	"github.com/det-deploy/det-deploy/internal/pki"
	"github.com/det-deploy/det-deploy/master/config"
)

// recoverTLS reads the settings of TLS from the master's configuration and the certificate: the user's
// certificate, or the address for agents on other machines in one of the cluster's authority.
func (p Place) recoverTLS(m config.Master, into map[string]string) {
	into[TLSSetting], into[AddressSetting] = "false", ""
	if !m.Security.TLS.Enabled() {
		return
	}
	into[TLSSetting] = "true"
	cert, err := os.ReadFile(p.pathOf("tls", certificateFile))
	if err != nil {
		return
	}
	key, err := os.ReadFile(p.pathOf("tls", keyFile))
	if err != nil {
		return
	}
	leaf, _, err := pki.Pair{Certificate: cert, Key: key}.Open()
	if err != nil {
		return
	}
	hosts := hostsIn(leaf)
	if leaf.Issuer.CommonName == authorityName {
		own := []string{"localhost", loopback, "::1", p.tasksReached()}
		hosts = slices.DeleteFunc(hosts, func(host string) bool { return slices.Contains(own, host) })
		if len(hosts) > 0 {
			into[AddressSetting] = hosts[0]
		}
		return
	}
	p.recoverOwn(string(cert), hosts, into)
}

// recoverOwn restores the user's certificate from the cluster's copies.
func (p Place) recoverOwn(cert string, hosts []string, into map[string]string) {
	authority, err := os.ReadFile(p.CA())
	if err != nil || len(hosts) == 0 {
		return
	}
	into[CertSetting], into[CASetting] = cert, string(authority)
	into[KeySetting], into[NameSetting] = "file:"+p.pathOf("tls", keyFile), hosts[0]
}

// hostsIn returns the names and addresses for which a certificate is valid.
func hostsIn(leaf *x509.Certificate) []string {
	hosts := leaf.DNSNames
	for _, ip := range leaf.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}
