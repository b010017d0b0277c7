package link

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/token"
)

func TestDamagedCredentialErrorSuggestsJoinToken(t *testing.T) {
	t.Parallel()
	text, _, err := token.Ring{token.NewKey(time.Now())}.SignCredential(token.Credential{Cluster: "c", Agent: "a", Pool: "p"})
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for _, tt := range []struct{ name, text, want string }{
		{"whole", whole + "\n", ""},
		{"empty", "", "it is empty"},
		{"zeros", "\x00\x00\x00\x00", "the credential is truncated"},
		{"half", whole[:len(whole)/2], "the credential is truncated"},
		{"without its last letters", whole[:len(whole)-3], "the credential is truncated"},
	} {
		dir := t.TempDir()
		file, join := filepath.Join(dir, "credential"), filepath.Join(dir, "join")
		if err := errors.Join(os.WriteFile(file, []byte(tt.text), 0o600), os.WriteFile(join, []byte("joins"), 0o600)); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		l := &link{cfg: Config{CredentialFile: file, JoinTokenFile: join, Log: slog.New(slog.NewTextHandler(&log, nil))}}
		var hello agentv1.Hello
		if err := l.proveIdentity(t.Context(), &hello); err != nil {
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

// keptIn is the environment variable that makes this test program keep a credential on a machine
// that cannot store it.
const keptIn = "DET_DEPLOY_TEST_CREDENTIAL"

// A master does not send another credential to an agent that reconnects.
func TestUnstoredCredentialSurvivesReconnects(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(keptIn); file != "" {
		keepWithoutDescriptors(t, file)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), keptIn+"="+filepath.Join(t.TempDir(), "credential"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func keepWithoutDescriptors(t *testing.T, file string) {
	t.Helper()
	var before unix.Rlimit
	l := &link{cfg: Config{CredentialFile: file, Log: slog.New(slog.DiscardHandler)}}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	for _, credential := range []string{"only", "", ""} {
		if err := l.keepCredential(credential); err != nil || l.unstored != "only" {
			t.Errorf("a welcome with %q: got %q kept and %v, want the only one", credential, l.unstored, err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	err := l.keepCredential("")
	stored, readErr := os.ReadFile(file)
	if err != nil || readErr != nil || string(stored) != "only\n" || l.unstored != "" {
		t.Errorf("with room again: got %q, %q left, %v, %v, want it stored", stored, l.unstored, err, readErr)
	}
}
