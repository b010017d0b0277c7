package spec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/rm"
)

// sshOf returns the files that a container of an allocation gets for ssh, by name.
func sshOf(r Run, containers int) map[string]string {
	out := map[string]string{}
	for _, f := range infoFiles(r, make([]rm.Container, containers)) {
		if name, found := strings.CutPrefix(f.GetPath(), sshDir+"/"); found {
			out[name] = string(f.GetContent())
		}
	}
	return out
}

func TestContainersOfAnAllocationShareAPrivateKey(t *testing.T) {
	t.Parallel()
	r := Run{Program: Program{FixedPaths: true}, Allocation: "1.a.1", SSHSeed: []byte("secret")}
	one := sshOf(r, 2)
	if again := sshOf(r, 2); one["id_rsa"] == "" || again["id_rsa"] != one["id_rsa"] {
		t.Errorf("got %q and %q, want one key", one["id_rsa"], again["id_rsa"])
	}
	for name, other := range map[string]Run{
		"another allocation": {Program: r.Program, Allocation: "1.a.2", SSHSeed: r.SSHSeed},
		"another seed":       {Program: r.Program, Allocation: r.Allocation, SSHSeed: []byte("other")},
	} {
		if got := sshOf(other, 2)["id_rsa"]; got == "" || got == one["id_rsa"] {
			t.Errorf("%s: got %q, want another key", name, got)
		}
	}
	if got := sshOf(r, 1); len(got) != 0 {
		t.Errorf("got %q for a container without siblings, want nothing", got)
	}
}

// OpenSSH itself reads the key and its public half.
func TestOpenSSHReadsTheKey(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is missing; run: apt-get install openssh-client")
	}
	files := sshOf(Run{Program: Program{FixedPaths: true}, Allocation: "1.a.1", SSHSeed: []byte("secret")}, 2)
	path := filepath.Join(t.TempDir(), "id_rsa")
	if err := os.WriteFile(path, []byte(files["id_rsa"]), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), keygen, "-y", "-f", path).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(files["id_rsa.pub"]) {
		t.Errorf("got %v and %s, want %s", err, out, files["id_rsa.pub"])
	}
	if files["known_hosts"] != "* "+files["id_rsa.pub"] || files["authorized_keys"] != files["id_rsa.pub"] {
		t.Errorf("got %q", files)
	}
}
