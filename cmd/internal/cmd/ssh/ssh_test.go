package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestFindShell(t *testing.T) {
	t.Parallel()
	list := []*apiv1.Shell{
		{Id: "5d1f6f2e-1", Description: "My Train: one", Username: "ada", State: apiv1.Task_STATE_RUNNING},
		{Id: "5d1f7777-2", Description: "Shell (calm-red-fox)", Username: "bob", State: apiv1.Task_STATE_RUNNING},
		{Id: "aaaa0000-3", Description: "train", Username: "bob", State: apiv1.Task_STATE_RUNNING},
		{Id: "bbbb0000-4", Description: "train", Username: "ada", State: apiv1.Task_STATE_RUNNING},
		{Id: "cccc0000-5", Description: "train", Username: "ada", State: apiv1.Task_STATE_TERMINATED},
		{Id: "dddd0000-6", Description: "eeee", Username: "eve", State: apiv1.Task_STATE_RUNNING},
		{Id: "eeea0000-7", Description: "aaaa", Username: "eve", State: apiv1.Task_STATE_RUNNING},
		{Id: "ffff0000-8", Description: "soon", Username: "ada", State: apiv1.Task_STATE_QUEUED},
		{Id: "abcd0000-9", Description: "twice", Username: "ada", State: apiv1.Task_STATE_RUNNING},
		{Id: "abcd1111-a", Description: "twice", Username: "ada", State: apiv1.Task_STATE_RUNNING},
		{Id: "abcd1111-b", Description: "hill", Username: "ada", State: apiv1.Task_STATE_RUNNING},
		{Id: "abcd1111-c", Description: "hill", Username: "bob", State: apiv1.Task_STATE_RUNNING},
	}
	for text, want := range map[string]string{
		"my-train-one": "5d1f6f2e-1", "My-Train-One": "5d1f6f2e-1", "5d1f6f2e-1": "5d1f6f2e-1", "5d1f6": "5d1f6f2e-1", "5d1f": "5d1f6f2e-1",
		"train": "bbbb0000-4", "aaaa": "aaaa0000-3", "aaaa0": "aaaa0000-3", "dddd0000-6": "dddd0000-6", "hill": "abcd1111-b",
		"calm-red-fox": `no running shell has the name or ID "calm-red-fox"; shell 5d1f7777-2 of user bob has the name: use its ID`,
		"twice":        `2 running shells have the name "twice", such as abcd0000-9 and abcd1111-a`, "eeee": `; shell dddd0000-6 of user eve has the name`,
		"soon": `no running shell has the name or ID "soon"; shell ffff0000-8 is queued`, "5d1": "no running shell", "cccc0000-5": "is terminated", "": "no running shell",
	} {
		s, err := findShell(list, "ada", text)
		if text == "5d1f" { // of two users
			s, err = findShell(list, "eve", text)
		}
		if s.GetId() != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %q and %v, want %q", text, s.GetId(), err, want)
		}
	}
}

func TestHostNamesAreFileNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"det-train": true, "det-a.b_c": true, "det-": true, "": false, ".": false, "..": false, "det-..": false, "det-../../x": false,
		"det-a/b": false, "-det": false, "det-a b": false, "det-$(x)": false, "det-a\nb": false, "known_hosts": true,
	} {
		if got := hostName.MatchString(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	got, err := block{master: "lab", prefix: "det-", program: "/opt/100%/det-deploy", keys: "/home/ada lovelace/ssh/c1"}.render()
	const want = `# Shells of cluster lab, by det-deploy ssh-config.
Host det-* "!*'*"
  HostKeyAlias det-deploy-c1
  UserKnownHostsFile "/home/ada lovelace/ssh/c1/.known_hosts"
  StrictHostKeyChecking yes
  IdentityFile "/home/ada lovelace/ssh/c1/%n"
  IdentitiesOnly yes
  ProxyCommand '/opt/100%%/det-deploy' ssh-proxy --master 'lab' --host-prefix 'det-' --keys '/home/ada lovelace/ssh/c1' '%n'
# Fetches the key of the shell.
Match originalhost "det-*,!*'*" exec "'/opt/100%%/det-deploy' ssh-proxy --master 'lab' --host-prefix 'det-' --keys '/home/ada lovelace/ssh/c1' '%n' --prepare 2>/dev/null"
`
	if err != nil || got != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got, want)
	}
	for _, b := range []block{{master: "it's", keys: "/k"}, {master: "lab", keys: `/a"b`}, {program: "/a\nb"}} {
		if _, err := b.render(); err == nil {
			t.Errorf("%+v is rendered", b)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	k, err := keysIn(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, "c1")
	if err != nil || string(k) != filepath.Join(state, "det-deploy", "ssh", "c1") {
		t.Fatalf("got %q and %v", k, err)
	}
	if err := k.prune("det-", nil); err != nil {
		t.Errorf("got %v without a directory", err)
	}
	for _, host := range []string{"det-a", "det-b", "lab-c"} {
		if err := k.write(host, "key of "+host, "ssh-ed25519 AAAA"); err != nil {
			t.Fatal(err)
		}
	}
	if i, err := os.Stat(filepath.Join(string(k), "det-a")); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("got %v and %v for a key", i, err)
	}
	if b, err := os.ReadFile(k.knownHosts()); err != nil || string(b) != "det-deploy-c1 ssh-ed25519 AAAA\n" {
		t.Errorf("got %q and %v", b, err)
	}
	if err := k.prune("det-", func(name string) bool { return name == "b" }); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(string(k))
	if err != nil || len(entries) != 3 || entries[0].Name() != ".known_hosts" || entries[1].Name() != "det-b" || entries[2].Name() != "lab-c" {
		t.Errorf("got %v and %v", entries, err)
	}
	if err := k.prune("k", func(string) bool { return false }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(k.knownHosts()); err != nil {
		t.Errorf("the host key is removed with the keys of a prefix: %v", err)
	}
	for _, cluster := range []string{"", "..", "a/b"} {
		if _, err := keysIn(os.Getenv, cluster); err == nil {
			t.Errorf("cluster %q has a directory", cluster)
		}
	}
	if _, err := keysIn(func(string) string { return "" }, "c1"); err == nil {
		t.Error("there is a directory without HOME")
	}
}
