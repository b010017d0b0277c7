package templates_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/templates"
	"github.com/det-deploy/det-deploy/test/golden"
)

const caPEM = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIQ\n-----END CERTIFICATE-----\n"

const proxyText = "HTTPS_PROXY=http://proxy:3128\nhttps_proxy=http://proxy:3128\n"

func boots() map[string]interface{ Render() ([]byte, error) } {
	sums := map[string]string{"amd64": strings.Repeat("ab", 32), "arm64": strings.Repeat("cd", 32)}
	return map[string]interface{ Render() ([]byte, error) }{
		"master.userdata": templates.MasterBoot{
			Cluster: "lab", Region: "us-west-2", Bucket: "det-deploy-lab-123456789012", SHA256: sums,
			Volume: "vol-0123456789abcdef0", Device: "/dev/sdf",
		},
		"master-proxy.userdata":      templates.MasterBoot{Cluster: "lab", Region: "us-west-2", Bucket: "b", SHA256: sums, Proxy: proxyText},
		"google-agent-proxy.startup": templates.GoogleAgentBoot{AgentBoot: templates.AgentBoot{Cluster: "lab", Master: "http://10.0.0.5:8080", SHA256: sums, Proxy: proxyText}},
		"master-endpoint.userdata": templates.MasterBoot{
			Cluster: "lab", Region: "cn-north-1", Bucket: "b", SHA256: sums, Endpoint: "http://10.200.0.1:5000",
		},
		"agent.userdata": templates.AgentBoot{
			Cluster: "lab", Master: "https://10.0.0.5:8443", CA: caPEM, Name: "det-deploy-master", SHA256: sums,
			Logs: "/det-deploy/lab", Metrics: true,
		},
		"google-master.startup": templates.GoogleMasterBoot{Cluster: "lab", Bucket: "det-deploy-lab-123456789012", SHA256: sums, Disk: "det-data"},
		"google-agent.startup": templates.GoogleAgentBoot{AgentBoot: templates.AgentBoot{
			Cluster: "lab", Master: "https://10.0.0.5:8443", CA: caPEM, Name: "det-deploy-master", SHA256: sums,
			Logs: "det-deploy-lab", Metrics: true,
		}},
		"agent-plain.userdata": templates.AgentBoot{Cluster: "lab", Master: "http://10.0.0.5:8080", SHA256: sums, Runtime: "process", Endpoint: "http://10.0.0.1:5000"},
	}
}

func TestUserDataRendersGolden(t *testing.T) {
	t.Parallel()
	for name, boot := range boots() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := boot.Render()
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", name+".golden"), string(got))
			if strings.HasSuffix(name, ".startup") {
				check(t, string(got)) // the guest agent runs it as it is
				return
			}
			check(t, script(t, got))
		})
	}
}

// script extracts the program from user data as cloud-init does.
func script(t *testing.T, data []byte) string {
	t.Helper()
	if !strings.HasPrefix(string(data), "#cloud-config\n") {
		t.Errorf("got %.20q, want what cloud-init knows it by", data)
	}
	var doc struct {
		Files []struct {
			Path, Owner, Permissions, Content string
		} `yaml:"write_files"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Files) != 1 || doc.Files[0].Permissions != "0755" {
		t.Fatalf("got %+v, want one program", doc.Files)
	}
	return doc.Files[0].Content
}

// check compiles the program with the system's Python and fails on warnings.
func check(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "boot.py")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// Python does not report undefined names before it uses them.
	const lint = `
import ast, builtins, sys
with open(sys.argv[1]) as f: text = f.read()
tree = compile(text, "boot.py", "exec", ast.PyCF_ONLY_AST)
known = set(dir(builtins)) | {"__name__"}
for n in ast.walk(tree):
    if isinstance(n, (ast.FunctionDef, ast.ClassDef)): known.add(n.name)
    if isinstance(n, ast.arg): known.add(n.arg)
    if isinstance(n, ast.ExceptHandler) and n.name: known.add(n.name)
    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store): known.add(n.id)
    if isinstance(n, (ast.Import, ast.ImportFrom)): known.update(a.name.split(".")[0] for a in n.names)
sys.exit(" ".join(sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in known})) or None)
`
	if out, err := exec.CommandContext(t.Context(), python(t), "-W", "error", "-I", "-c", lint, path).CombinedOutput(); err != nil {
		t.Errorf("got %v: %s; want a program that Python accepts", err, out)
	}
}

// python returns the path of the interpreter that runs user data: the system's, not a user's.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("/usr/bin/python3")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("there is no /usr/bin/python3 to run user data with: apt-get install python3")
	case err != nil:
		t.Skip("this machine has no /usr/bin/python3 to run user data with")
	}
	return path
}

func TestInvalidUserDataFails(t *testing.T) {
	t.Parallel()
	sums := map[string]string{"amd64": strings.Repeat("ab", 32)}
	agent := func(edit func(*templates.AgentBoot)) templates.AgentBoot {
		b := templates.AgentBoot{Cluster: "lab", Master: "https://m", CA: caPEM, SHA256: sums}
		edit(&b)
		return b
	}
	googleAgent := func(edit func(*templates.AgentBoot)) templates.GoogleAgentBoot {
		return templates.GoogleAgentBoot{AgentBoot: agent(edit)}
	}
	tests := map[string]struct {
		boot interface{ Render() ([]byte, error) }
		want string
	}{
		"nothing":                        {templates.MasterBoot{}, "bucket: must be set"},
		"an invalid hash":                {agent(func(b *templates.AgentBoot) { b.SHA256 = map[string]string{"amd64": "x"} }), "sha256 of amd64: must be 64 lowercase hexadecimal digits"},
		"an odd character":               {agent(func(b *templates.AgentBoot) { b.Logs = "gr\u00fcn" }), "must be printable ASCII"},
		"another scheme":                 {agent(func(b *templates.AgentBoot) { b.Master = "m:8080" }), "master: must begin with https://"},
		"a CA without TLS":               {agent(func(b *templates.AgentBoot) { b.Master = "http://m" }), "master: must use https"},
		"a bucket that is missing":       {templates.GoogleMasterBoot{Cluster: "lab", SHA256: sums}, "startup script: bucket: must be set"},
		"an endpoint":                    {googleAgent(func(b *templates.AgentBoot) { b.Endpoint = "http://e" }), "endpoint: not supported"},
		"a master without an address":    {googleAgent(func(b *templates.AgentBoot) { b.Master = "" }), "master: must be set"},
		"more than Compute Engine takes": {googleAgent(func(b *templates.AgentBoot) { b.CA = strings.Repeat(caPEM, 4000) }), "limit of Compute Engine (262144)"},
		"more than EC2 takes":            {agent(func(b *templates.AgentBoot) { b.CA = strings.Repeat(caPEM, 200) }), "limit of EC2 (16384)"},
	}
	for name, tt := range tests {
		if _, err := tt.boot.Render(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

func TestUserDataEscapesCode(t *testing.T) {
	t.Parallel()
	evil := `x"); import os; os.system("reboot") #'''$(reboot)` + "`reboot`" + `\`
	out, err := templates.AgentBoot{Cluster: evil, Master: "https://m", SHA256: map[string]string{"amd64": strings.Repeat("ab", 32)}}.Render()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "boot.py")
	line := ""
	for l := range strings.Lines(script(t, out)) {
		if strings.HasPrefix(l, "DATA = ") {
			line = l
		}
	}
	if err := os.WriteFile(path, []byte("import json\n"+line+`print(DATA["cluster"], end="")`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := exec.CommandContext(t.Context(), python(t), "-I", path).CombinedOutput()
	if err != nil || string(got) != evil {
		t.Errorf("got %q, %v; want %q unchanged", got, err, evil)
	}
}
