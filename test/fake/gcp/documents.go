package gcptest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// services maps services to their discovery documents, relative to the module
// google.golang.org/api.
func services() map[string]string {
	return map[string]string{
		"compute":              "compute/v1/compute-api.json",
		"storage":              "storage/v1/storage-api.json",
		"iam":                  "iam/v1/iam-api.json",
		"cloudresourcemanager": "cloudresourcemanager/v3/cloudresourcemanager-api.json",
		"secretmanager":        "secretmanager/v1/secretmanager-api.json",
		"logging":              "logging/v2/logging-api.json",
		"monitoring":           "monitoring/v3/monitoring-api.json",
		"serviceusage":         "serviceusage/v1/serviceusage-api.json",
		"orgpolicy":            "orgpolicy/v2/orgpolicy-api.json",
	}
}

// documents holds the services by name, with a path tree for each and one for all of them.
type documents struct {
	services map[string]*service
	all      *node
}

// service is a discovery document.
type service struct {
	Name        string                 `json:"name"`
	RootURL     string                 `json:"rootUrl"`
	ServicePath string                 `json:"servicePath"`
	Parameters  map[string]*parameter  `json:"parameters"`
	Schemas     map[string]*schema     `json:"schemas"`
	Resources   map[string]*resourceOf `json:"resources"`

	tree *node
}

// resourceOf is a collection of a discovery document.
type resourceOf struct {
	Methods   map[string]*method     `json:"methods"`
	Resources map[string]*resourceOf `json:"resources"`
}

// method is a method of a service.
type method struct {
	ID         string                `json:"id"`
	Verb       string                `json:"httpMethod"`
	Path       string                `json:"path"`
	FlatPath   string                `json:"flatPath"`
	Parameters map[string]*parameter `json:"parameters"`
	Request    *schema               `json:"request"`
	Response   *schema               `json:"response"`
	Scopes     []string              `json:"scopes"`
	Media      struct {
		Protocols map[string]struct{ Path string } `json:"protocols"`
	} `json:"mediaUpload"`

	service *service
}

// parameter is a path or query parameter of a method.
type parameter struct {
	schema
	Location string `json:"location"`
	Required bool   `json:"required"`
	Repeated bool   `json:"repeated"`
}

var loaded struct {
	once sync.Once
	docs *documents
	err  error
}

// loadDocuments reads the discovery documents from the module cache, once per process.
func loadDocuments(ctx context.Context) (*documents, error) {
	loaded.once.Do(func() { loaded.docs, loaded.err = readDocuments(ctx) })
	return loaded.docs, loaded.err
}

func readDocuments(ctx context.Context) (*documents, error) {
	module, err := findModule(ctx)
	if err != nil {
		return nil, err
	}
	d := &documents{services: make(map[string]*service), all: newNode()}
	for name, file := range services() {
		s, err := readService(filepath.Join(module, file))
		if err != nil {
			return nil, err
		}
		d.services[name] = s
		s.eachMethod(func(m *method) {
			m.service = s
			s.tree.addMethod(m)
			d.all.addMethod(m)
		})
	}
	return d, nil
}

// findModule returns the directory of google.golang.org/api in the module cache.
func findModule(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		return "", fmt.Errorf("find the module google.golang.org/api: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func readService(file string) (*service, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a discovery document: %w", err)
	}
	s := &service{tree: newNode()}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("read the discovery document %s: %w", file, err)
	}
	return s, nil
}

// eachMethod calls f for every method.
func (s *service) eachMethod(f func(*method)) {
	for _, r := range s.Resources {
		r.eachMethod(f)
	}
}

func (r *resourceOf) eachMethod(f func(*method)) {
	for _, m := range r.Methods {
		f(m)
	}
	for _, sub := range r.Resources {
		sub.eachMethod(f)
	}
}

// Method is the description of a method in the discovery documents.
type Method struct {
	Verb string
	// Path contains parameter names in braces.
	Path       string
	Parameters []string
}

// Methods returns all methods by ID.
func Methods(tb testing.TB) map[string]Method {
	tb.Helper()
	d, err := loadDocuments(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	out := make(map[string]Method)
	for _, s := range d.services {
		s.eachMethod(func(m *method) {
			out[m.ID] = Method{m.Verb, s.ServicePath + cmp.Or(m.FlatPath, m.Path), slices.Sorted(maps.Keys(m.Parameters))}
		})
	}
	return out
}

// changes reports whether a call may modify resources. Queries by POST do not.
func (m *method) changes() bool {
	last := m.ID[strings.LastIndexByte(m.ID, '.')+1:]
	switch last {
	case "wait", "getIamPolicy", "testIamPermissions", "search":
		return false
	}
	return m.Verb != "GET" && m.ID != "logging.entries.list"
}
