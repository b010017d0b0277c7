package process

import (
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Each of these tasks gets what the one before left, or would without what it is ordered.
func TestWhatIsOrderedStandsInThePlaceOfWhatWasKept(t *testing.T) {
	t.Parallel()
	for what, order := range map[string]container.File{
		"a file":                   {Path: runDir + "/pythonuserbase", Content: []byte("text\n"), Mode: 0o644},
		"a link":                   {Path: runDir + "/pythonuserbase", Link: "workdir"},
		"a directory":              {Path: runDir + "/pythonuserbase", Dir: true, Mode: 0o710},
		"a directory not to write": {Path: runDir + "/pythonuserbase", Dir: true, Mode: 0o500},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := inMemory(t)
			want := ""
			for i := range manyTasks {
				spec := script(fmt.Sprint("task-", i), "stat -c '%F %a' . .. ../pythonuserbase ../info; chmod 755 ../pythonuserbase; chmod 1777 . ..")
				base := container.File{Path: runDir + "/pythonuserbase", Dir: true, Mode: 0o700}
				if i%2 == 0 {
					base = order
				}
				spec.Files = []container.File{
					{Path: runDir, Dir: true, Mode: 0o711},
					base,
					{Path: infoDir, Dir: true, Mode: 0o755},
					{Path: runDir + "/workdir", Dir: true, Mode: 0o700},
				}
				said, code := outcome(t, r, spec)
				if i == 0 {
					want = said // in a new directory
				}
				if code != 0 || i%2 == 0 && said != want {
					t.Fatalf("task %d: got code %d and %q, want what the first one had, %q", i, code, said, want)
				}
				if err := r.Remove(t.Context(), spec.ID); err != nil {
					t.Fatal(err)
				}
			}
			if len(r.onDisk.emptied) == 0 {
				t.Error("no directory was used again, and the test shows nothing")
			}
		})
	}
}

func TestAFileInThePlaceOfTheAgentsDirectoryIsTheTasks(t *testing.T) {
	t.Parallel()
	for kind, r := range placing(t) {
		spec := script(strings.ReplaceAll(kind, " ", "-"), "cat "+infoDir)
		spec.Files = []container.File{{Path: infoDir, Content: []byte("text\n"), Mode: 0o600}}
		if said, code := outcome(t, r, spec); code != 0 || said != "text\n" {
			t.Errorf("%s: got code %d and %q", kind, code, said)
		}
	}
}
