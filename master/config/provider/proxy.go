package provider

import (
	"net/url"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Proxy names the HTTP proxies through which machines reach the internet.
type Proxy struct {
	HTTP  string `yaml:"http_proxy" doc:"Proxy of the machines for http, such as http://proxy.example.com:3128; it must not contain a password"`
	HTTPS string `yaml:"https_proxy" doc:"Proxy of the machines for https"`
	No    string `yaml:"no_proxy" doc:"Comma-separated hosts, domains and ranges to reach without a proxy, in addition to the metadata service, the master and private addresses"`
}

// direct are the addresses that machines never reach through a proxy: themselves, the metadata
// services of the clouds, and private networks.
const direct = "localhost,127.0.0.0/8,::1,169.254.0.0/16,fd00:ec2::254,metadata.google.internal,.internal," +
	"10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10"

// InUse reports whether a proxy is set.
func (p Proxy) InUse() bool { return p.HTTP != "" || p.HTTPS != "" }

// Environment returns the variables of an environment file, in the spellings that programs read. It
// is empty without a proxy. Hosts are reached without it.
func (p Proxy) Environment(hosts ...string) string {
	if !p.InUse() {
		return ""
	}
	no := strings.Join(append([]string{direct}, hosts...), ",")
	if p.No != "" {
		no += "," + p.No
	}
	var b strings.Builder
	for _, v := range [][2]string{{"HTTP_PROXY", p.HTTP}, {"HTTPS_PROXY", p.HTTPS}, {"NO_PROXY", no}} {
		if v[1] != "" {
			b.WriteString(v[0] + "=" + v[1] + "\n" + strings.ToLower(v[0]) + "=" + v[1] + "\n")
		}
	}
	return b.String()
}

// Validate checks the addresses.
func (p Proxy) Validate(path string) document.Errors {
	var e document.Errors
	check := func(key, value string) {
		u, err := url.Parse(value)
		at, ok := document.Join(path, key), err == nil
		ok = ok && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
		secret := err == nil && u.User != nil
		e.Check(value == "" || !secret, at, "must not contain a user or a password: the boot data of machines, which hold it, are not secret")
		e.Check(value == "" || ok && isPlain(value), at, "must be the address of a proxy, such as http://proxy.example.com:3128")
	}
	check("http_proxy", p.HTTP)
	check("https_proxy", p.HTTPS)
	e.Check(isPlain(p.No), document.Join(path, "no_proxy"), "must be a comma-separated list without spaces and quotes (is %q)", p.No)
	e.Check(p.No == "" || p.InUse(), document.Join(path, "no_proxy"), "has no effect without http_proxy or https_proxy")
	return e
}

// isPlain reports whether a value is the same in an environment file, in a unit and in a shell.
func isPlain(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'`\\$%;#", r) })
}
