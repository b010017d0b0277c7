package experiment_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/test/rest"
)

// accounts is the passwd file of an image in which sshd can run.
const accounts = "root:*:0:0:root:/run:/bin/sh\nsshd:*:100:65534::/run/sshd:/bin/false\n"

// The library's launcher for Horovod starts sshd on all machines except the first, from which a
// program starts the ranks. The test replaces that program; keys, ports, sshd and ssh are real.
func TestALauncherStartsRanksOnOtherMachinesBySSH(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	if _, err := exec.LookPath("/usr/sbin/sshd"); err != nil {
		missing := "sshd is not installed; run: apt-get install openssh-server"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	passwd := filepath.Join(sharedDir(t), "passwd")
	if err := os.WriteFile(passwd, []byte(accounts), 0o644); err != nil { //nolint:gosec // the file is public
		t.Fatal(err)
	}
	l := openLab(t, options{agents: 2, docker: true, mounts: fmt.Sprintf("    - {host_path: %s, container_path: /etc/passwd, read_only: true}\n", passwd)})
	id := l.submit("testdata/ssh", `
name: ssh
entrypoint: chmod +x horovodrun && PATH=$PWD:$PATH exec python3 -m determined.launch.horovod -- python3 train.py
searcher: {name: single, metric: validation_loss}
resources: {slots_per_trial: 2}
max_restarts: 0
`)
	l.await(id, "COMPLETED")
	for _, text := range []string{"rank 0 of 2 runs on agent-", "rank 1 of 2 runs on agent-"} {
		if err := l.has(id, text); err != nil {
			t.Error(err)
		}
	}
}
