package manifest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Validate returns all errors in a manifest, one per line.
func (m Manifest) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.Schema != Schema {
		bad("schema: must be %s (%s)", Schema, m.Schema)
	}
	if m.Cluster == "" {
		bad("cluster: must be set")
	}
	if m.Generation < 1 {
		bad("generation: must be at least 1 (%d)", m.Generation)
	}
	if m.Version == "" {
		bad("version: must be set")
	}
	switch m.Phase {
	case Serve, Hold, Stop:
	default:
		bad("phase: must be %s, %s or %s (%s)", Serve, Hold, Stop, m.Phase)
	}
	if len(m.Binaries) == 0 {
		bad("binaries: must hold at least one")
	}
	for _, arch := range slices.Sorted(maps.Keys(m.Binaries)) {
		if !isArchitecture(arch) {
			bad("binaries[%q]: must be an architecture such as amd64", arch)
		}
		errs = append(errs, m.Binaries[arch].validateFile("binaries."+arch, BinaryKey)...)
	}
	for _, p := range slices.Sorted(maps.Keys(m.Files)) {
		if !strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "/" || strings.ContainsRune(p, 0) {
			bad("files[%q]: must be a clean absolute path", p)
		}
		errs = append(errs, m.Files[p].validateFile(fmt.Sprintf("files[%q]", p), FileKey)...)
	}
	errs = append(errs, m.validateHealth()...)
	return errors.Join(errs...)
}

// validateFile requires the object name that belongs to the checksum, so that no manifest makes a
// machine fetch other objects from the bucket.
func (f File) validateFile(at string, key func(sha256 string) string) []error {
	var errs []error
	if !isSHA256(f.SHA256) {
		errs = append(errs, fmt.Errorf("%s.sha256: must be 64 lowercase hexadecimal digits (%q)", at, f.SHA256))
	} else if want := key(f.SHA256); f.Key != want {
		errs = append(errs, fmt.Errorf("%s.key: must be %s (%q)", at, want, f.Key))
	}
	if f.Mode&^0o777 != 0 {
		errs = append(errs, fmt.Errorf("%s.mode: must be permissions only (%s)", at, f.Mode))
	}
	return errs
}

// validateHealth requires a loopback URL, so that the health check queries this machine's master
// and no other host.
func (m Manifest) validateHealth() []error {
	u, err := url.Parse(m.Health.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return []error{fmt.Errorf("health.url: must be an http or https address (%q)", m.Health.URL)}
	}
	var errs []error
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		errs = append(errs, fmt.Errorf("health.url: must be a loopback address (%s)", m.Health.URL))
	}
	if _, found := m.Files[m.Health.CA]; !found && m.Health.CA != "" {
		errs = append(errs, fmt.Errorf("health.ca: must be one of files (%s)", m.Health.CA))
	}
	if m.Fallback && m.Phase != Serve {
		errs = append(errs, fmt.Errorf("fallback: is for phase %s only (%s)", Serve, m.Phase))
	}
	return errs
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func isArchitecture(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
