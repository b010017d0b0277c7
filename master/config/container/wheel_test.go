package container_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
)

func TestUnmarshalWheel(t *testing.T) {
	t.Parallel()
	const file, sum = "/w/determined-0.38.1-py3-none-any.whl", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for text, want := range map[string]struct {
		wheel   container.Wheel
		problem string
	}{
		"harness_wheel: " + file:                                   {wheel: container.Wheel{File: file}},
		"harness_wheel: {file: " + file + ", sha256: " + sum + "}": {wheel: container.Wheel{File: file, SHA256: sum}},
		"harness_wheel: determined-0.38.1-py3-none-any.whl":        {problem: "must be absolute"},
		"harness_wheel: /w/determined.whl":                         {problem: "must be a valid name of a wheel"},
		"harness_wheel: {file: " + file + ", sha256: ABC}":         {problem: "must be 64 hexadecimal digits"},
		"harness_wheel: {file: " + file + ", hash: " + sum + "}":   {problem: "hash"},
	} {
		var d container.Defaults
		doc, err := document.Parse([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		problems := append(doc.Decode(&d), d.HarnessWheel.Validate("harness_wheel")...)
		if want.problem != "" {
			if !strings.Contains(problems.Error(), want.problem) {
				t.Errorf("%s: got %v, want %q", text, problems, want.problem)
			}
			continue
		}
		if len(problems) > 0 || d.HarnessWheel != want.wheel {
			t.Errorf("%s: got %v, %v", text, d.HarnessWheel, problems)
		}
		out, err := document.Marshal(d)
		if err != nil || !strings.Contains(string(out), file) || strings.Contains(string(out), "sha256") != (want.wheel.SHA256 != "") {
			t.Errorf("%s: written as %s, %v", text, out, err)
		}
	}
}
