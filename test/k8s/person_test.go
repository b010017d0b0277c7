package k8s_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/kubetest"
)

// person is a user at a terminal with a kubeconfig.
type person struct {
	t    *testing.T
	c    *kubetest.Cluster
	home string
	// env is added to the environment of commands.
	env []string
}

// newPerson starts a cluster with one node.
func newPerson(t *testing.T) *person {
	t.Helper()
	return newPersonOn(t, kubetest.Options{Mode: kubetest.Node})
}

func newPersonOn(t *testing.T, o kubetest.Options) *person {
	t.Helper()
	c := kubetest.Start(t, o)
	c.LoadImage(c.Task(), c.Postgres())
	return &person{t: t, c: c, home: t.TempDir()}
}

// at returns a person with another home directory on the same cluster, for a subtest.
func (p *person) at(t *testing.T) *person {
	t.Helper()
	return &person{t: t, c: p.c.For(t), home: t.TempDir()}
}

// build builds an image, loads it, and returns the path of the program in it.
func (p *person) build(version string) string {
	p.t.Helper()
	archive, program := p.c.Master(version)
	p.c.LoadImage(archive)
	return program
}

// values returns the values of a small cluster whose node port is reachable from here.
func values(more ...string) []string {
	return images(append([]string{
		"slotType=cpu", "slotResourceRequests.cpu=0.05", "useNodePortForMaster=true", "db.storageSize=1Gi",
		"db.cpuRequest=50m", "db.memRequest=64Mi",
	}, more...)...)
}

// images returns values that every cluster here has.
func images(more ...string) []string { return kubetest.Values(more...) }

// types runs a command and returns its output.
func (p *person) types(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "NO_COLOR=1", "KUBECONFIG=" + p.c.Kubeconfig}, p.env...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	p.t.Logf("%s (%s)\n%s", strings.Join(args, " "), time.Since(start).Round(100*time.Millisecond), out)
	if err != nil {
		return string(out), fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

func (p *person) does(program, want string, args ...string) string {
	p.t.Helper()
	out, err := p.types(program, args...)
	if err != nil || !strings.Contains(out, want) {
		p.t.Fatalf("got %v, want %q in the answer", err, want)
	}
	return out
}

// starts runs a task in the background and returns its ID.
func (p *person) starts(program string, args ...string) string {
	p.t.Helper()
	words := strings.Fields(p.does(program, "", append([]string{"task", "run", "--detach"}, args...)...))
	return words[len(words)-1] // the ID is the last word
}

// task is a task in `task list`.
type task struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// tasks returns the states of all tasks by ID, in lower case. Earlier versions have another JSON output.
func (p *person) tasks(program string) (map[string]string, error) {
	cmd := exec.CommandContext(p.t.Context(), program, "task", "list", "--all", "--output", "json")
	cmd.Env = []string{"HOME=" + p.home}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items    []task `json:"items"`
		Commands []task `json:"commands"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for _, t := range slices.Concat(answer.Items, answer.Commands) {
		all[t.ID] = strings.ToLower(strings.TrimPrefix(t.State, "STATE_"))
	}
	if len(all) == 0 {
		return nil, errors.New("there are none: " + string(out[:min(len(out), 300)]))
	}
	return all, nil
}

// eventually polls until try returns nil. It fails the test with the last error after limit.
func (p *person) eventually(what string, limit time.Duration, try func() error) {
	p.t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: %v", what, err)
		}
	}
}

// settles waits until all objects of a cluster's ended tasks are deleted: a plan to uninstall lists
// their Jobs, and is rejected if one of them is deleted before it is confirmed.
func (p *person) settles(cluster string) {
	p.t.Helper()
	p.eventually("nothing of the tasks is left", time.Minute, func() error {
		out, err := p.c.Try("get", "jobs,pods,secrets", "--all-namespaces", "-l", "determined,det-deploy.dev/cluster="+cluster, "-o", "name")
		if err == nil && strings.TrimSpace(out) != "" {
			err = fmt.Errorf("there is %s", out)
		}
		return err
	})
}

// nothing fails the test if objects of a cluster remain.
func (p *person) nothing(cluster, kinds string) {
	p.t.Helper()
	p.eventually("nothing is left of the cluster", time.Minute, func() error {
		out, err := p.c.Try("get", kinds, "--all-namespaces", "-l", "det-deploy.dev/cluster="+cluster, "-o", "name")
		if err == nil && strings.TrimSpace(out) != "" {
			err = fmt.Errorf("there is %s", out)
		}
		return err
	})
}

// certificate creates files with a certificate for hosts and its key.
func (p *person) certificate(hosts ...string) (cert, key string) {
	p.t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	who := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hosts[0]}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			who.IPAddresses = append(who.IPAddresses, ip)
			continue
		}
		who.DNSNames = append(who.DNSNames, h, h+".tls.svc.cluster.local")
	}
	der, err := x509.CreateCertificate(rand.Reader, &who, &who, &pair.PublicKey, pair)
	if err != nil {
		p.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(pair)
	if err != nil {
		p.t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(p.home, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			p.t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", "CERTIFICATE", der), write("tls.key", "EC PRIVATE KEY", private)
}
