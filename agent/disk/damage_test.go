package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestWhatThePowerCutEmptiedIsGoneAndOtherDamageIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text string
		gone             bool
		want             string
	}{
		{"empty order", "start", "", true, ""},
		{"empty state", "state", "", true, ""},
		{"damaged order", "start", "\xff\xff\xff", false, "it is no order"},
		{"half a state", "state", `{"state": "RUN`, false, "it ends in the middle"},
		{"zeros for a state", "state", "\x00\x00\x00", false, "it is not the document"},
	} {
		d, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := d.Add(&agentv1.Start{ContainerId: "c"})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(e.dir, tt.file)
		if err := errors.Join(e.SetState(State{State: lifecycle.Running}), os.WriteFile(path, []byte(tt.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		all, err := d.Entries()
		if err != nil || (len(all) == 0) != tt.gone {
			t.Errorf("%s: got %d containers, %v", tt.name, len(all), err)
		}
		if tt.gone {
			continue
		}
		_, err = e.Start()
		if err == nil {
			_, err = e.State()
		}
		named, ok := errors.AsType[*atomicfile.DamagedError](err)
		if !ok || named.Path != path || !strings.Contains(err.Error(), tt.want) || !strings.Contains(named.Fix, e.dir) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
