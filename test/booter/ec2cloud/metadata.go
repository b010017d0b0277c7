package ec2cloud

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// metadata is the instance metadata service, version 2 (IMDSv2). It rejects requests without a
// session token, which is issued by a PUT request.
type metadata struct {
	token    string
	userData []byte

	// mu guards values, the content of the paths below meta-data and dynamic.
	mu     sync.Mutex
	values map[string]string
	// keys returns the role's temporary credentials. It is nil without a role.
	keys func() (string, error)
	role string
}

const tokenTTL = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"

func newMetadata() *metadata { return &metadata{token: rand.Text(), values: map[string]string{}} }

// set changes the content of a path. An empty text deletes the path.
func (m *metadata) set(path, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text == "" {
		delete(m.values, path)
		return
	}
	m.values[path] = text
}

func (m *metadata) setJSON(path string, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		m.set(path, string(text))
	}
}

// ServeHTTP implements http.Handler. It ignores the version in the path.
func (m *metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.Method == http.MethodPut && path == "api/token":
		ttl := r.Header.Get(tokenTTL)
		if ttl == "" || r.Header.Get("X-Forwarded-For") != "" {
			http.Error(w, "no time to live", http.StatusBadRequest)
			return
		}
		w.Header().Set(tokenTTL, ttl)
		fmt.Fprint(w, m.token)
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != m.token:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case path == "user-data":
		if len(m.userData) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(m.userData) // the client may have disconnected
	default:
		m.answer(w, r, path)
	}
}

func (m *metadata) answer(w http.ResponseWriter, r *http.Request, path string) {
	text, found := m.find(strings.TrimSuffix(path, "/"))
	if path == "meta-data/iam/security-credentials/"+m.role && m.keys != nil {
		keys, err := m.keys()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		text, found = keys, true
	}
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, text)
}

// find returns the content of a path, or a listing of the names below it. As on EC2, names with
// children end with a slash.
func (m *metadata) find(path string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text, found := m.values[path]; found {
		return text, true
	}
	var names []string
	for p := range m.values {
		rest, below := strings.CutPrefix(p, path+"/")
		if path == "" {
			rest, below = p, true
		}
		if !below {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			name += "/"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n"), len(names) > 0
}
