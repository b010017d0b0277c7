package gcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
)

// The documented command creates the role that `gcp policy` prints.
func TestDocumentedCommandCreatesRole(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../../docs/gcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(docs), "det-deploy gcp policy >installer.yaml\ngcloud ")
	if !found {
		t.Fatal("got no command in docs/gcp.md")
	}
	line, _, _ := strings.Cut(rest, "\n")
	text, err := Role("caller")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "installer.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.NewReplacer("installer.yaml", file, "vision-lab", gcptest.Project).Replace(line))
	var made iam.Role
	googletest.Gcloud(t, googletest.Serve(t, gcptest.New(t, gcptest.Options{})), &made, append(args, "--quiet")...) // asks for no warnings about permissions
	want := identity.InstallerPermissions()
	slices.Sort(want)
	slices.Sort(made.IncludedPermissions)
	if d := cmp.Diff(made.IncludedPermissions, want); d != "" || made.Name != "projects/"+gcptest.Project+"/roles/detDeployInstaller" {
		t.Errorf("got role %s, with permissions -, want +:\n%s", made.Name, d)
	}
}
