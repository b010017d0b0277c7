package elastic_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/test/rest"
)

// TestOnlyLaunchedMachinesMayJoin tries to join as a machine of the pool: from machines that the master did not
// launch, with the agents' role and with another role, and from an agent with a join token and the
// name of a machine.
func TestOnlyLaunchedMachinesMayJoin(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, a := onAmazon(t, `
instance_type: t3.medium
min_instances: 1
max_instances: 2
`)
	mine := c.machines(1, 3*time.Minute)[0]
	c.eventually("the machine joins", 3*time.Minute, func() error { return c.lists(mine) })

	client := ec2.NewFromConfig(a.account.Config())
	data, err := client.DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &mine, Attribute: types.InstanceAttributeNameUserData})
	if err != nil {
		t.Fatal(err)
	}
	launch := func(profile string) string {
		out, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{
			ImageId: aws.String("ami-0000000000000a001"), InstanceType: "t3.medium", MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			UserData: data.UserData.Value, IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: &profile},
			InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Instances[0].InstanceId
	}
	a.account.Role(t, "stranger", "")
	same, other := launch("agent"), launch("stranger")

	c.eventually("the machine with another role is refused and powers itself off", 3*time.Minute, func() error {
		for _, m := range a.account.Machines(t) {
			if m.ID == other && m.State != "terminated" {
				return errors.New("it is " + m.State + "\n" + c.Console(other))
			}
		}
		return nil
	})
	c.eventually("the machine that was not launched is refused", 3*time.Minute, func() error {
		return c.logged("agent refused", "the master has not launched it")
	})

	out := c.static(mine)
	if !strings.Contains(out, "launched") {
		t.Errorf("got %s", out)
	}
	for _, id := range []string{same, other} {
		if c.lists(id) == nil {
			t.Errorf("%s is an agent", id)
		}
	}
	if err := c.lists(mine); err != nil {
		t.Errorf("the machine was pushed out: %v", err)
	}
}

// lists returns an error unless the agent of a machine is listed.
func (c *cluster) lists(id string) error {
	out, err := c.client("", "agent", "list")
	if err == nil && !strings.Contains(out, id) {
		err = errors.New(out)
	}
	return err
}

// logged returns an error unless the master's log has a line with all words.
func (c *cluster) logged(words ...string) error {
	text, err := os.ReadFile(c.path("master.log"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if all(line, words) {
			return nil
		}
	}
	return fmt.Errorf("no line with %v", words)
}

func all(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// static runs an agent with a join token and a name until it exits.
func (c *cluster) static(name string) string {
	c.t.Helper()
	bin, err := binary()
	if err != nil {
		c.t.Fatal(err)
	}
	token, err := c.lab.Command(c.t.Context(), bin, "master", "join-token", "--config-file", c.path("master.yaml")).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	for file, text := range map[string]string{
		"join-token": strings.TrimSpace(string(token)) + "\n",
		"agent.yaml": fmt.Sprintf("master_host: 10.200.0.1\nmaster_port: 8443\nartificial_slots: 1\ncontainer_runtime: process\ntrust_users: true\n"+
			"security: {tls: {enabled: true, master_cert: %s}}\n", c.path("master/tls/ca.crt")),
	} {
		if err := os.WriteFile(c.path(file), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	cmd := c.lab.Command(c.t.Context(), bin, "agent", "run", "--config-file", c.path("agent.yaml"),
		"--agent-id", name, "--data-dir", c.path("static"), "--join-token-file", c.path("join-token"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		c.t.Errorf("an agent called %s ended without an error", name)
	}
	return string(out)
}
