package readme_test

import (
	"os"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/installed"
)

// page is a page whose lines are typed.
type page struct {
	file string
	// end is the first line that does not count, or empty.
	end string
	// want are parts of the output.
	want []string
}

// lines returns a script with the lines in the page's blocks, without the blocks for the other runtime.
func (p page) lines(t *testing.T, runtime string) string {
	t.Helper()
	text, err := os.ReadFile(installed.InProject(p.file))
	if err != nil {
		t.Fatal(err)
	}
	read, _, found := strings.Cut(string(text), p.end)
	if p.end == "" {
		read = string(text)
	} else if !found {
		t.Fatalf("%s has no line %q", p.file, p.end)
	}
	script := "set -x\n"
	blocks := strings.Split(read, "```")
	for i := 1; i < len(blocks); i += 2 {
		block := strings.TrimPrefix(blocks[i], "sh\n")
		if isForDocker(block) && runtime != "docker" || isForProcesses(block) && runtime == "docker" {
			continue
		}
		for line := range strings.Lines(block) {
			script += adapted(strings.TrimSpace(line)) + "\n"
		}
	}
	return script
}

func isForDocker(block string) bool    { return strings.Contains(block, "local-docker-master.yaml") }
func isForProcesses(block string) bool { return strings.Contains(block, "local-master.yaml") }

// adapted returns a line as the script types it. Three things differ from a person's machine: the program is built
// already, Python packages and images are there, and the script answers questions.
func adapted(line string) string {
	line = strings.Replace(line, "docs/examples/local-docker-master.yaml", "docker.yaml", 1)
	switch {
	case strings.HasPrefix(line, "make test"), strings.Contains(line, "pip install"):
		return ":"
	case strings.HasPrefix(line, "docker build --tag "):
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "docker build --tag "), " ")
		return "docker tag docker.io/library/python:3.11-slim " + name
	case strings.HasPrefix(line, "make "):
		return "make -o build " + strings.TrimPrefix(line, "make ")
	case strings.Contains(line, "det user login"):
		return `bin/det-deploy local credentials --output json | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["password"])' | ` + line
	case strings.Contains(line, "det-deploy local down"):
		return strings.Replace(line, "local down", "local down --yes", 1)
	case strings.Contains(line, "det-deploy local up"):
		return strings.Replace(strings.Replace(line, " --yes", "", 1), "local up", "local up --yes", 1)
	}
	return line
}
