package api

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// settings are the effective options, completed from the same sources as those of gcloud and
// Google's libraries.
type settings struct {
	project, region, zone string
	// impersonate is a chain of service accounts, each of which impersonates the next.
	impersonate []string
	// quotaProject is the quota project. If it is empty, the credentials determine it.
	quotaProject string
	endpoints    endpoints
}

// readSettings completes options in this order: explicit value, environment variable, active gcloud
// configuration.
func readSettings(o Options) (settings, error) {
	c, err := readGcloud()
	if err != nil {
		return settings{}, err
	}
	s := settings{
		project:      cmp.Or(o.Project, os.Getenv("GOOGLE_CLOUD_PROJECT"), c.property("core", "project")),
		region:       cmp.Or(o.Region, c.property("compute", "region"), regionOf(c.property("compute", "zone"))),
		impersonate:  splitList(cmp.Or(o.Impersonate, c.property("auth", "impersonate_service_account"))),
		quotaProject: c.property("billing", "quota_project"),
		endpoints:    func(service string) string { return c.property("api_endpoint_overrides", service) },
	}
	if zone := c.property("compute", "zone"); regionOf(zone) == s.region {
		s.zone = zone
	}
	switch s.quotaProject {
	case "CURRENT_PROJECT", "CURRENT_PROJECT_WITH_FALLBACK":
		s.quotaProject = s.project
	case "LEGACY":
		s.quotaProject = ""
	}
	return s, nil
}

// regionOf returns the region of a zone: us-central1 for us-central1-a.
func regionOf(zone string) string {
	i := strings.LastIndexByte(zone, '-')
	return zone[:max(i, 0)]
}

func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// gcloudConfig is a gcloud configuration. Its keys are section and property.
type gcloudConfig map[string]string

// property returns a property like gcloud does: environment variables take precedence over the
// file.
func (c gcloudConfig) property(section, name string) string {
	variable := "CLOUDSDK_" + strings.ToUpper(section+"_"+name)
	return cmp.Or(os.Getenv(variable), c[section+"/"+name])
}

// readGcloud reads the active gcloud configuration. It returns an empty one if gcloud was never
// used.
func readGcloud() (gcloudConfig, error) {
	dir := gcloudDir()
	name := os.Getenv("CLOUDSDK_ACTIVE_CONFIG_NAME")
	if name == "" {
		b, err := readIfThere(filepath.Join(dir, "active_config"))
		if err != nil {
			return nil, err
		}
		name = cmp.Or(strings.TrimSpace(string(b)), "default")
	}
	file := filepath.Join(dir, "configurations", "config_"+name)
	b, err := readIfThere(file)
	if err != nil {
		return nil, err
	}
	c, err := parseProperties(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return c, nil
}

func gcloudDir() string {
	if dir := os.Getenv("CLOUDSDK_CONFIG"); dir != "" {
		return dir
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("APPDATA"), "gcloud")
	}
	return filepath.Join(os.Getenv("HOME"), ".config", "gcloud")
}

func readIfThere(file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// parseProperties parses sections of "name = value" lines.
func parseProperties(text []byte) (gcloudConfig, error) {
	c := make(gcloudConfig)
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		name, value, found := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
		case !found:
			return nil, fmt.Errorf("line %d is neither a section nor a property: %q", n, line)
		default:
			c[section+"/"+strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return c, lines.Err()
}
