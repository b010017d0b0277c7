package elastic_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/ec2cloud"
	"github.com/det-deploy/det-deploy/test/clustertest"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// password is that of both built-in users.
const password = "Correct-Horse-7"

// address is where the master answers in the lab.
const address = "https://" + booter.Gateway + ":8443"

// binary builds det-deploy once for all tests of this package.
var binary = clustertest.Program

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // it is the main of the tests

// cluster is a master in a lab whose emulated cloud boots real machines.
type cluster struct {
	*booter.Booter
	t       *testing.T
	lab     *booter.Lab
	account *motest.Account
	dir     string
	det     string
	keys    aws.Credentials
	subnets []string
	// group is the agents' security group, profile their instance profile.
	group, profile string
	// scheme is "https", or "http" without TLS.
	scheme string
	// endpoint is the cloud's address: a proxy's, or the emulator's own.
	endpoint string

	master *exec.Cmd
}

// masterPolicy is that of the manuals, and the permission to hand the agents'
// role to machines.
const masterPolicy = `{"Version": "2012-10-17", "Statement": [
  {"Sid": "VisualEditor0", "Effect": "Allow", "Action": ["ec2:DescribeInstances", "ec2:TerminateInstances", "ec2:CreateTags",
    "ec2:RunInstances", "ec2:CancelSpotInstanceRequests", "ec2:RequestSpotInstances", "ec2:DescribeSpotInstanceRequests"], "Resource": "*"},
  {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "%s"}]}`

// pool is a pool whose machines come and go; what a test adds follows.
const pool = `
bind_ip: 10.200.0.1
data_dir: DIR/master
security:
  tls: auto
  initial_user_password: ` + password + `
resource_pools:
  - pool_name: default
    provider:
      type: aws
      region: us-west-2
      master_url: ` + address + `
      image_id: ` + motest.ImageAMD64 + `
      iam_instance_profile_arn: PROFILE
      subnets: SUBNETS
      network_interface: {public_ip: true, security_group_id: GROUP}
      tag_key: cluster
      tag_value: lab
      instance_slots: 1
      agent_config_file_contents: {container_runtime: process, trust_users: true}
`

// open starts a master with a pool; extra is what the pool's provider has more.
func open(t *testing.T, extra string) *cluster {
	t.Helper()
	c := prepare(t)
	c.launch(strings.NewReplacer(
		"DIR", c.dir, "PROFILE", c.profile, "SUBNETS", "["+strings.Join(c.subnets, ", ")+"]", "GROUP", c.group,
	).Replace(pool) + indent(extra))
	return c
}

// prepare makes everything but the master. The account enforces its policies.
func prepare(t *testing.T) *cluster {
	t.Helper()
	l := booter.OpenLab(t)
	server := motest.Serve(t, motest.Place{Address: booter.Gateway, Wrap: l.Wrap(), Client: l.Client()})
	c := &cluster{t: t, lab: l, account: server.Account(t), dir: t.TempDir(), det: detCLI(t), scheme: "https"}
	c.Booter = booter.Start(t, l, ec2cloud.New(c.account))
	c.endpoint = c.account.Endpoint
	agent := c.account.Role(t, "agent", "")
	c.profile = strings.Replace(agent, ":role/", ":instance-profile/", 1)
	c.keys = c.account.Assume(t, c.account.Role(t, "master", fmt.Sprintf(masterPolicy, agent)), "i-00000000000000000")
	c.network()
	c.account.Enforce(t, true)
	return c
}

// launch starts the master on a file.
func (c *cluster) launch(yaml string) {
	c.t.Helper()
	if err := os.WriteFile(c.path("master.yaml"), []byte(yaml), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(c.stop)
	c.start()
}

// url is where the master answers.
func (c *cluster) url() string {
	if c.scheme == "http" {
		return "http://" + booter.Gateway + ":8080"
	}
	return address
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ") + "\n"
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// network is the account's own; two of its subnets serve.
func (c *cluster) network() {
	c.t.Helper()
	client := ec2.NewFromConfig(c.account.Config())
	out, err := client.DescribeSubnets(c.t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.subnets = []string{*out.Subnets[0].SubnetId, *out.Subnets[1].SubnetId}
	g, err := client.CreateSecurityGroup(c.t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("agents"), Description: aws.String("agents"), VpcId: out.Subnets[0].VpcId,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.group = *g.GroupId
}

// start starts the master and returns when it answers.
func (c *cluster) start() {
	c.t.Helper()
	bin, err := binary()
	if err != nil {
		c.t.Fatal(err)
	}
	log, err := os.OpenFile(c.path("master.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the master has its own
	c.master = c.lab.Command(c.t.Context(), bin, "master", "run", "--config-file", c.path("master.yaml"))
	c.master.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "AWS_ENDPOINT_URL=" + c.endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID=" + c.keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + c.keys.SecretAccessKey, "AWS_SESSION_TOKEN=" + c.keys.SessionToken,
	}
	c.master.Stdout, c.master.Stderr = log, log
	c.master.Cancel = func() error { return nil } // it is stopped by the clean-up
	if err := c.master.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.eventually("the master answers", time.Minute, func() error {
		out, err := c.curl("/healthz")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// curl asks the master from within the lab.
func (c *cluster) curl(path string) (string, error) {
	args := []string{"-sf", "-m", "5", c.url() + path}
	if c.scheme == "https" {
		args = append(args, "--cacert", c.path("master/tls/ca.crt"))
	}
	out, err := c.lab.Command(c.t.Context(), "curl", args...).CombinedOutput()
	return string(out), err
}

// kill is kill -9 of the master.
func (c *cluster) kill() {
	_ = c.master.Process.Kill() // it may be gone
	_ = c.master.Wait()
}

func (c *cluster) stop() {
	if c.master != nil && c.master.ProcessState == nil {
		_ = c.master.Process.Signal(syscall.SIGTERM)
		_ = c.master.Wait() // how it ended is in its log
	}
	if c.t.Failed() {
		log, _ := os.ReadFile(c.path("master.log"))
		c.t.Logf("the master's log:\n%s", tail(log, 12000))
	}
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// detCLI is the unmodified client, installed by test/setup.
func detCLI(t *testing.T) string {
	t.Helper()
	home, err := filepath.Abs("../../.cache/det")
	if err != nil {
		t.Fatal(err)
	}
	det := filepath.Join(home, "bin", "det")
	if _, err := os.Stat(det); err == nil {
		return det
	}
	if _, err := os.Stat(filepath.Join(home, "no-index")); err == nil {
		t.Skip("no Python index answered when the det client was to be installed")
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("the det client is missing; install it with: make setup")
	}
	t.Skip("the det client is missing; install it with: make setup")
	return ""
}

// client runs det against the master.
func (c *cluster) client(stdin string, args ...string) (string, error) {
	cmd := c.lab.Command(c.t.Context(), c.det, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "DET_MASTER=" + c.url(), "DET_USER=admin", "DET_PASS=" + password,
	}
	if c.scheme == "https" {
		cmd.Env = append(cmd.Env, "DET_MASTER_CERT_FILE="+c.path("master/tls/ca.crt"))
	}
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("det %s: %w\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String(), nil
}

func (c *cluster) ok(args ...string) string {
	c.t.Helper()
	out, err := c.client("", args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// program runs our own client, as the administrator.
func (c *cluster) program(args ...string) string {
	c.t.Helper()
	bin, err := binary()
	if err != nil {
		c.t.Fatal(err)
	}
	run := func(stdin string, args ...string) string {
		cmd := c.lab.Command(c.t.Context(), bin, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "NO_COLOR=1"}
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			c.t.Fatalf("det-deploy %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(password+"\n", "login", "admin", "--master", address, "--ca-file", c.path("master/tls/ca.crt"), "--name", "lab", "--password-stdin")
	return run("", args...)
}

// run submits a command that waits for a machine, and returns its id.
func (c *cluster) run(script string) string {
	c.t.Helper()
	out := c.ok("cmd", "run", "--detach", "--config", "resources.slots=1", "sh", "-c", script)
	fields := strings.Fields(out)
	return fields[len(fields)-1]
}

// logs waits until a task has written a text.
func (c *cluster) logs(task, want string) {
	c.t.Helper()
	c.eventually("task "+task+" writes "+want, 4*time.Minute, func() error {
		out, err := c.client("", "task", "logs", task)
		if err == nil && !strings.Contains(out, want) {
			err = errors.New(string(tail([]byte(out), 2000)))
		}
		return err
	})
}

// alive are the cloud's machines that run, and of which types.
func (c *cluster) alive() map[string]motest.Machine {
	c.t.Helper()
	out := map[string]motest.Machine{}
	for _, m := range c.account.Machines(c.t) {
		if m.State == "pending" || m.State == "running" {
			out[m.ID] = m
		}
	}
	return out
}

// machines waits until so many run.
func (c *cluster) machines(n int, limit time.Duration) (ids []string) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%d machines run", n), limit, func() error {
		ids = nil
		for id := range c.alive() {
			ids = append(ids, id)
		}
		if len(ids) != n {
			return fmt.Errorf("there are %v", ids)
		}
		return nil
	})
	return ids
}

func (c *cluster) eventually(what string, limit time.Duration, try func() error) {
	c.t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	c.t.Fatalf("%s: not within %s: %v", what, limit, err)
}
