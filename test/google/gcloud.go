package googletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Gcloud runs a gcloud command against a site and decodes its output. It uses its own
// configuration. gcloud is not available from a package registry: the test is skipped if it is not
// installed.
func Gcloud(t testing.TB, s Site, out any, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs gcloud; run without -short")
	}
	path, err := exec.LookPath("gcloud")
	if err != nil {
		t.Skip("gcloud is not installed, and no package registry has it")
	}
	config := t.TempDir()
	token := filepath.Join(config, "token")
	if err := os.WriteFile(token, []byte(s.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append(args, "--format=json")...)
	cmd.Env = append(os.Environ(),
		"CLOUDSDK_CONFIG="+config, "CLOUDSDK_CORE_PROJECT="+gcptest.Project, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE="+token,
		"CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE="+s.URL+"/compute/v1/", "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM="+s.URL+"/",
		"CLOUDSDK_CORE_DISABLE_PROMPTS=1",
		"CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=1", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=1",
		"CLOUDSDK_CORE_CHECK_GCE_METADATA=false", "NO_PROXY=127.0.0.1")
	runCommand(t, cmd, nil, out)
}

// readByGcloud reads each list with one command.
func readByGcloud(t testing.TB, sites []Site, lists []List) []Lists {
	t.Helper()
	var out []Lists
	for _, s := range sites {
		all := make(Lists)
		for _, l := range lists {
			args := append([]string{"compute"}, append(gcloudName(l.Name), "list")...)
			if l.Filter != "" {
				args = append(args, "--filter="+l.Filter)
			}
			var found []Object
			Gcloud(t, s, &found, args...)
			all[l.Name] = found
		}
		out = append(out, all)
	}
	return out
}

// gcloudName returns the gcloud command group of a collection.
func gcloudName(list string) []string {
	switch list {
	case "firewalls":
		return []string{"firewall-rules"}
	case "subnetworks":
		return []string{"networks", "subnets"}
	}
	return []string{list}
}
