package aws_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
)

// Each file is one document, and aws iam create-policy rejects other keys.
func TestPolicyFilesAreDocuments(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]int{"caller": 2, "caller-machines": 1, "master": 1, "agent": 1} {
		files, err := awswire.PolicyFiles(who, awswire.Scope{Cluster: "lab"})
		if err != nil || len(files) != want {
			t.Errorf("%s: got %d files and %v, want %d", who, len(files), err, want)
		}
		for name, data := range files {
			var keys map[string]json.RawMessage
			if err := json.Unmarshal(data, &keys); err != nil || len(keys) != 2 || keys["Statement"] == nil || keys["Version"] == nil {
				t.Errorf("%s: got %v and %.60s, want a version and statements alone", name, err, data)
			}
		}
	}
}

func TestPolicyFileBeyondLimit(t *testing.T) {
	t.Parallel()
	s := awswire.Scope{Secrets: slices.Repeat([]string{strings.Repeat("x", 512)}, 10)}
	if _, err := awswire.PolicyFiles("caller", s); err == nil || !strings.Contains(err.Error(), "policy caller-roles-and-data: ") || !strings.Contains(err.Error(), "limit of 6144") {
		t.Errorf("got %v, want the policy and the limit that it exceeds", err)
	}
}
