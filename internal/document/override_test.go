package document_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
)

func TestOverlay(t *testing.T) {
	t.Parallel()
	const base = "port: 8080\nsecurity:\n  tls:\n    cert: a\n  visibility: private\npools:\n  - name: one\n"
	for _, tt := range []struct{ name, over, want string }{
		{"nothing", "", "pools:\n  - name: one\nport: 8080\nsecurity:\n  tls:\n    cert: a\n  visibility: private\n"},
		{"mappings are merged", "security:\n  visibility: open\n", "pools:\n  - name: one\nport: 8080\nsecurity:\n  tls:\n    cert: a\n  visibility: open\n"},
		{"lists take the place", `{"pools": []}`, "pools: []\nport: 8080\nsecurity:\n  tls:\n    cert: a\n  visibility: private\n"},
		{"numbers stay whole", `{"port": 1000000, "limits": {"bytes": [1e6]}}`, "limits:\n  bytes:\n    - 1000000\npools:\n  - name: one\nport: 1000000\nsecurity:\n  tls:\n    cert: a\n  visibility: private\n"},
	} {
		got, err := document.Overlay([]byte(base), []byte(tt.over))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %v and\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
	if _, err := document.Overlay([]byte(base), []byte("- a list")); err == nil {
		t.Error("a list: got no error")
	}
}
