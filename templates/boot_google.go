package templates

import (
	"errors"
	"fmt"
)

// StartupScriptLimit is Compute Engine's limit on one metadata value.
const StartupScriptLimit = 256 << 10

// onGoogle returns the flags that select Google Cloud.
func onGoogle() []string { return []string{"--cloud", "gcp"} }

// GoogleMasterBoot is the startup script of a master's machine on Google Cloud, which its guest agent
// runs at every boot.
type GoogleMasterBoot struct {
	Cluster string
	// Bucket is the control bucket.
	Bucket string
	// SHA256 is the program's hash by architecture: "amd64", "arm64".
	SHA256 map[string]string
	// Proxy is an environment file with the proxies of the machine; empty without any.
	Proxy string
	// Disk is the device name of the data disk: "det-data". If it is empty, the boot disk holds the
	// data.
	Disk string
}

// Render returns the startup script.
func (b GoogleMasterBoot) Render() ([]byte, error) {
	install := append(onGoogle(), "--role", "master", "--cluster-id", b.Cluster, "--control-bucket", b.Bucket)
	install = appendFlag(install, "--disk-name", b.Disk)
	return boot{
		Role: "master", Cluster: b.Cluster, SHA256: b.SHA256, Bucket: b.Bucket, Proxy: b.Proxy, Install: install,
	}.renderStartupScript(requireValue("bucket", b.Bucket))
}

// GoogleAgentBoot is the startup script of an agent's machine on Google Cloud. Render returns an error
// if Endpoint is set.
type GoogleAgentBoot struct{ AgentBoot }

// Render returns the startup script.
func (b GoogleAgentBoot) Render() ([]byte, error) {
	var endpoint error
	if b.Endpoint != "" {
		endpoint = errors.New("endpoint: not supported on Google Cloud")
	}
	return b.boot(onGoogle()...).renderStartupScript(requireValue("master", b.Master), checkTLS(b.AgentBoot), endpoint)
}

// renderStartupScript renders the boot script. It returns an error if the result exceeds
// StartupScriptLimit.
func (b boot) renderStartupScript(errs ...error) ([]byte, error) {
	out, err := b.renderScript("boot_google.py.tmpl", errs...)
	if err == nil && len(out) > StartupScriptLimit {
		err = fmt.Errorf("%d bytes exceed the limit of Compute Engine (%d)", len(out), StartupScriptLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("render the %s's startup script: %w", b.Role, err)
	}
	return out, nil
}
