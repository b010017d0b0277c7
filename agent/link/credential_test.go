package link

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/token"
)

func TestADamagedCredentialIsNamedAndAJoinTokenShown(t *testing.T) {
	t.Parallel()
	text, _, err := token.Ring{token.NewKey(time.Now())}.SignCredential(token.Credential{Cluster: "c", Agent: "a", Pool: "p"})
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for _, tt := range []struct{ name, text, want string }{
		{"whole", whole + "\n", ""},
		{"empty", "", "it is empty"},
		{"zeros", "\x00\x00\x00\x00", "there is only a part"},
		{"half", whole[:len(whole)/2], "there is only a part"},
		{"without its last letters", whole[:len(whole)-3], "there is only a part"},
	} {
		dir := t.TempDir()
		file, join := filepath.Join(dir, "credential"), filepath.Join(dir, "join")
		if err := errors.Join(os.WriteFile(file, []byte(tt.text), 0o600), os.WriteFile(join, []byte("joins"), 0o600)); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		l := &link{cfg: Config{CredentialFile: file, JoinTokenFile: join, Log: slog.New(slog.NewTextHandler(&log, nil))}}
		var hello agentv1.Hello
		if err := l.prove(t.Context(), &hello); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if tt.want == "" {
			if hello.GetCredential() != whole || log.Len() != 0 {
				t.Errorf("%s: got another credential, and %s", tt.name, &log)
			}
			continue
		}
		if hello.GetCredential() != "" || hello.GetJoinToken() != "joins" {
			t.Errorf("%s: got %v, want the join token", tt.name, &hello)
		}
		if got := log.String(); !strings.Contains(got, file) || !strings.Contains(got, tt.want) || !strings.Contains(got, "joins again") {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still there (%v)", tt.name, err)
		}
	}
}
