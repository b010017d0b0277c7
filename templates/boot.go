package templates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// UserDataLimit is EC2's limit on user data, before it is encoded.
const UserDataLimit = 16 << 10

// MasterBoot is the user data of a master's machine on AWS.
type MasterBoot struct {
	Cluster string
	Region  string
	// Bucket is the control bucket.
	Bucket string
	// SHA256 is the program's hash by architecture: "amd64", "arm64".
	SHA256 map[string]string
	// Endpoint is the address of an emulator that replaces AWS's endpoints; empty otherwise.
	Endpoint string
	// Volume is the data volume, "vol-…". If it is empty, the root disk holds the data.
	Volume string
	// Proxy is an environment file with the proxies of the machine; empty without any.
	Proxy string
	// Device is the device name of the attached Volume, "/dev/sdf". It identifies the volume on instance
	// types whose disks do not report their volume's id.
	Device string
}

// AgentBoot is the user data of an agent's machine on AWS, and most of GoogleAgentBoot.
type AgentBoot struct {
	Cluster string
	// Master is the URL of the master for machines. CA is the trusted certificate in PEM, and Name the
	// name in the master's certificate if it differs from the URL's host. CA and Name are empty for
	// http.
	Master string
	CA     string
	Name   string
	// SHA256 is the program's hash by architecture: "amd64", "arm64".
	SHA256 map[string]string
	// Logs is the CloudWatch log group, or the log of Cloud Logging, for the machine's journal; if it is
	// empty, the journal stays on the machine.
	Logs string
	// Metrics reports the machine's utilization to CloudWatch or Cloud Monitoring.
	Metrics bool
	// Endpoint is the address of an emulator that replaces AWS's endpoints; empty otherwise.
	Endpoint string
	// Proxy is an environment file with the proxies of the machine; empty without any.
	Proxy string
	// Runtime is agent.yaml's container_runtime until the master sends another. It defaults to docker: a
	// machine that was launched to run containers has no substitute.
	Runtime string
}

// boot is the input of boot.py. It is embedded as JSON within a string literal, so that none of it is
// executed as code.
type boot struct {
	Role       string            `json:"role"`
	Cluster    string            `json:"cluster"`
	SHA256     map[string]string `json:"sha256"`
	Region     string            `json:"region,omitempty"`
	Bucket     string            `json:"bucket,omitempty"`
	Endpoint   string            `json:"endpoint"`
	Master     string            `json:"master,omitempty"`
	MasterName string            `json:"master_name"`
	CA         string            `json:"ca"`
	Proxy      string            `json:"proxy"`
	Install    []string          `json:"install"`
}

// Render returns the user data.
func (b MasterBoot) Render() ([]byte, error) {
	install := []string{"--role", "master", "--cluster-id", b.Cluster, "--region", b.Region, "--control-bucket", b.Bucket}
	install = appendFlag(install, "--aws-endpoint", b.Endpoint)
	install = appendFlag(install, "--volume", b.Volume)
	install = appendFlag(install, "--device", b.Device)
	return boot{
		Role: "master", Cluster: b.Cluster, SHA256: b.SHA256, Region: b.Region, Bucket: b.Bucket,
		Endpoint: b.Endpoint, Proxy: b.Proxy, Install: install,
	}.renderUserData(requireValue("region", b.Region), requireValue("bucket", b.Bucket))
}

// Render returns the user data.
func (b AgentBoot) Render() ([]byte, error) {
	return b.boot().renderUserData(requireValue("master", b.Master), checkTLS(b))
}

// renderUserData renders the boot script and indents it into cloud-init's document. It returns an error
// if the result exceeds UserDataLimit.
func (b boot) renderUserData(errs ...error) ([]byte, error) {
	script, err := b.renderScript("boot_aws.py.tmpl", errs...)
	if err != nil {
		return nil, fmt.Errorf("render the %s's user data: %w", b.Role, err)
	}
	out, err := renderTemplate("userdata.tmpl", struct{ Script string }{indentScript(script)})
	if err == nil && len(out) > UserDataLimit {
		err = fmt.Errorf("render the %s's user data: %d bytes exceed the limit of EC2 (%d)", b.Role, len(out), UserDataLimit)
	}
	return out, err
}

// renderScript renders the boot script with the parts that a cloud's template defines. It returns an
// error if a field is invalid.
func (b boot) renderScript(cloud string, errs ...error) ([]byte, error) {
	data, err := json.Marshal(b)
	errs = append(errs, err, requireValue("cluster", b.Cluster), checkHashes(b.SHA256), plainText(b))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	// An ASCII JSON string is a valid Python string.
	literal, err := json.Marshal(string(data))
	if err != nil {
		return nil, err
	}
	return renderTemplate("boot.py.tmpl", struct{ Role, JSON string }{b.Role, string(literal)}, cloud)
}

// boot returns the parts of an agent's boot that all clouds share.
func (b AgentBoot) boot(cloud ...string) boot {
	install := append(cloud, "--role", "agent", "--cluster-id", b.Cluster, "--master-url", b.Master)
	if b.CA != "" {
		install = append(install, "--master-ca", "/etc/determined/ca.pem")
	}
	install = appendFlag(install, "--master-name", b.Name)
	install = appendFlag(install, "--journal-group", b.Logs)
	install = appendFlag(install, "--aws-endpoint", b.Endpoint)
	install = appendFlag(install, "--runtime", b.Runtime)
	if b.Metrics {
		install = append(install, "--report-use")
	}
	if b.Proxy != "" {
		install = append(install, "--proxy-file", proxyFile)
	}
	return boot{Role: "agent", Cluster: b.Cluster, SHA256: b.SHA256, Master: b.Master, MasterName: b.Name, CA: b.CA, Proxy: b.Proxy, Install: install}
}

func indentScript(script []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(bytes.TrimSpace(script)) {
		if len(bytes.TrimSpace(line)) > 0 {
			out.WriteString("      ")
		}
		out.Write(line)
	}
	return out.String()
}

func appendFlag(args []string, name, value string) []string {
	if value == "" {
		return args
	}
	return append(args, name, value)
}

// proxyFile is the path to which the boot script writes the proxies of the machine.
const proxyFile = "/etc/determined/proxy.env"

func requireValue(what, value string) error {
	if value == "" {
		return fmt.Errorf("%s: must be set", what)
	}
	return nil
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

func checkHashes(by map[string]string) error {
	errs := []error{}
	for _, arch := range slices.Sorted(maps.Keys(by)) {
		if !sha256Form.MatchString(by[arch]) {
			errs = append(errs, fmt.Errorf("sha256 of %s: must be 64 lowercase hexadecimal digits (%q)", arch, by[arch]))
		}
	}
	if len(by) == 0 {
		errs = append(errs, errors.New("sha256: must have at least one architecture"))
	}
	return errors.Join(errs...)
}

// plainText returns an error for characters that YAML or Python would interpret differently from JSON.
func plainText(b boot) error {
	var errs []error
	for _, s := range append(b.Install, b.CA, b.Proxy) {
		if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); i >= 0 {
			errs = append(errs, fmt.Errorf("%q: must be printable ASCII", s))
		}
	}
	return errors.Join(errs...)
}

func checkTLS(b AgentBoot) error {
	https := strings.HasPrefix(b.Master, "https://")
	if !https && !strings.HasPrefix(b.Master, "http://") {
		return fmt.Errorf("master: must begin with https:// or http:// (%q)", b.Master)
	}
	if !https && (b.CA != "" || b.Name != "") {
		return errors.New("master: must use https with a CA or a name")
	}
	return nil
}
