package fleet_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/faultproxy"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// pool is a pool in an emulated account, behind a proxy.
type pool struct {
	*fleet.Fleet
	account *motest.Account
	proxy   *faultproxy.Proxy
	cfg     fleet.Config
	caller  aws.Config
}

func open(t *testing.T, change func(*fleet.Config)) *pool {
	t.Helper()
	a := motest.Open(t)
	p := &pool{account: a, proxy: faultproxy.Start(t, a.Endpoint, 0), caller: a.Config()}
	p.caller.BaseEndpoint = aws.String(p.proxy.URL)
	subnets, err := p.ec2().DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	group, err := p.ec2().CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("agents"), Description: aws.String("agents"), VpcId: subnets.Subnets[0].VpcId,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.cfg = fleet.Config{
		Cluster: "lab", Pool: "gpu", Tag: fleet.Tag{Key: "managed_by", Value: "lab"}, Name: "det-lab-agent",
		MasterURL: "https://10.0.0.1:8443", Tags: []fleet.Tag{{Key: "team", Value: "vision"}},
		Image: motest.ImageAMD64, RootGB: 200, Subnets: []string{*subnets.Subnets[0].SubnetId, *subnets.Subnets[1].SubnetId},
		Group: *group.GroupId, PublicIP: true, MaxPrice: "0.9", UserData: []byte("#!/bin/sh\n"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&p.cfg)
	}
	p.Fleet = p.reopen(t, p.cfg)
	return p
}

func (p *pool) ec2() api.EC2 { return api.New(p.caller, api.Options{}).EC2 }

func (p *pool) reopen(t *testing.T, cfg fleet.Config) *fleet.Fleet {
	t.Helper()
	f, err := fleet.New(p.ec2(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (p *pool) offer(price cloud.Price) cloud.Offer {
	return cloud.Offer{Type: "g4dn.xlarge", Zone: p.cfg.Subnets[0], Price: price}
}

func (p *pool) launch(t *testing.T, token string, count int, o cloud.Offer) []cloud.Instance {
	t.Helper()
	got, err := p.Launch(t.Context(), cloud.Launch{Token: token, Offer: o, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestInstances(t *testing.T) {
	t.Parallel()
	for _, price := range []cloud.Price{cloud.OnDemand, cloud.Spot} {
		t.Run(string(price), func(t *testing.T) {
			t.Parallel()
			suite(t, price).Run(t)
		})
	}
}

func suite(t *testing.T, price cloud.Price) cloudtest.InstancesSuite {
	t.Helper()
	of := func(i cloud.Instances) *pool { return i.(*pool) }
	second := 100 * time.Millisecond
	return cloudtest.InstancesSuite{
		New: func(t *testing.T) cloud.Instances {
			t.Helper()
			p := open(t, func(c *fleet.Config) { c.Subnets, c.Spot = nil, price == cloud.Spot })
			p.account.Configure(t, motest.Settings{Pending: &second, Shutdown: &second})
			return p
		},
		Offer: cloud.Offer{Type: "g4dn.xlarge", Price: price},
		Reopen: func(t *testing.T, i cloud.Instances) cloud.Instances {
			t.Helper()
			p := *of(i)
			p.Fleet = p.reopen(t, p.cfg)
			return &p
		},
		Other: func(t *testing.T, i cloud.Instances) cloud.Instances {
			t.Helper()
			p := *of(i)
			p.cfg.Pool = "other"
			p.Fleet = p.reopen(t, p.cfg)
			return &p
		},
		NoCapacity: func(t *testing.T, i cloud.Instances) {
			t.Helper()
			of(i).account.Limit(t, motest.Capacity{Market: string(price)})
		},
		LoseReply: func(_ *testing.T, i cloud.Instances) {
			of(i).proxy.Add(faultproxy.Rule{Action: regexp.MustCompile("^RunInstances$"), Count: 1, Effect: faultproxy.Lose()})
		},
		Unknown: "i-0123456789abcdef0", Patience: time.Minute,
	}
}

func TestLaunchSetsTagsAndProtections(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *fleet.Config) { c.Spot = true })
	p.cfg.ProfileARN = strings.Replace(p.account.Role(t, "agent", ""), ":role/", ":instance-profile/", 1)
	p.Fleet = p.reopen(t, p.cfg)
	id := string(p.launch(t, "one", 1, p.offer(cloud.Spot))[0].ID)

	out, err := p.ec2().DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	i := out.Reservations[0].Instances[0]
	want := map[string]string{
		"det-deploy-cluster": "lab", "det-deploy-pool": "gpu", "managed_by": "lab", "Name": "det-lab-agent", "team": "vision",
		"determined-resource-pool": "gpu", "determined-master-address": "https://10.0.0.1:8443",
	}
	if diff := cmp.Diff(tags(i.Tags), want); diff != "" {
		t.Errorf("tags of the machine (-got +want):\n%s", diff)
	}
	volumes, err := p.ec2().DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{VolumeIds: []string{*i.BlockDeviceMappings[0].Ebs.VolumeId}})
	if err != nil {
		t.Fatal(err)
	}
	v := volumes.Volumes[0]
	if diff := cmp.Diff(tags(v.Tags), want); diff != "" {
		t.Errorf("tags of the disk (-got +want):\n%s", diff)
	}
	requests, err := p.ec2().DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{})
	if err != nil {
		t.Fatal(err)
	}
	r := requests.SpotInstanceRequests[0]
	if diff := cmp.Diff(tags(r.Tags), want); diff != "" {
		t.Errorf("tags of the spot request (-got +want):\n%s", diff)
	}
	behaviour, err := shutdownBehaviour(t, p, id)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(*v.Encrypted, v.VolumeType, *v.Size, *i.BlockDeviceMappings[0].DeviceName,
		i.MetadataOptions.HttpTokens, *i.MetadataOptions.HttpPutResponseHopLimit, *i.SubnetId == p.cfg.Subnets[0], *i.SecurityGroups[0].GroupId == p.cfg.Group,
		i.PublicIpAddress != nil, *i.IamInstanceProfile.Arn == p.cfg.ProfileARN, i.InstanceLifecycle, r.Type, aws.ToString(r.SpotPrice), behaviour)
	if want := fmt.Sprintln(true, "gp3", 200, "/dev/sda1", "required", 2, true, true, true, true, "spot", "one-time", "0.900000", "terminate"); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func shutdownBehaviour(t *testing.T, p *pool, id string) (string, error) {
	t.Helper()
	out, err := ec2.NewFromConfig(p.caller).DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{
		InstanceId: &id, Attribute: types.InstanceAttributeNameInstanceInitiatedShutdownBehavior,
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.InstanceInitiatedShutdownBehavior.Value), nil
}

func tags(all []types.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range all {
		out[*t.Key] = *t.Value
	}
	return out
}

func TestRootDeviceOfImage(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *fleet.Config) { c.Image = "ami-0000000000000a004" })
	p.launch(t, "one", 1, p.offer(cloud.OnDemand))
	p.launch(t, "two", 1, p.offer(cloud.OnDemand))
	if got := p.proxy.Actions()["ec2:DescribeImages"]; got != 1 {
		t.Errorf("looked at the image %d times, want 1", got)
	}
	for _, c := range p.proxy.Calls() {
		if c.Action == "RunInstances" && !strings.Contains(c.Body, "BlockDeviceMapping.1.DeviceName=/dev/xvda\n") {
			t.Errorf("got %s", c.Body)
		}
	}
}

// A master that lacks the permission to describe images gets the root device from the installer.
func TestConfiguredRootDeviceIsNotQueried(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *fleet.Config) { c.Image, c.RootDevice = "ami-0000000000000a004", "/dev/xvda" })
	p.launch(t, "one", 1, p.offer(cloud.OnDemand))
	if got := p.proxy.Actions()["ec2:DescribeImages"]; got != 0 {
		t.Errorf("looked at the image %d times, want 0", got)
	}
	for _, c := range p.proxy.Calls() {
		if c.Action == "RunInstances" && !strings.Contains(c.Body, "BlockDeviceMapping.1.DeviceName=/dev/xvda\n") {
			t.Errorf("got %s", c.Body)
		}
	}
}

func TestListReadsAllPagesAndOnlyOwnInstances(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	p.account.Configure(t, motest.Settings{Page: aws.Int(2)})
	for n := range 5 {
		p.launch(t, fmt.Sprint("t", n), 1, p.offer(cloud.OnDemand))
	}
	stranger := p.cfg
	stranger.Cluster = "other"
	if _, err := p.reopen(t, stranger).Launch(t.Context(), cloud.Launch{Token: "x", Offer: p.offer(cloud.OnDemand), Count: 1}); err != nil {
		t.Fatal(err)
	}
	got, err := p.List(t.Context())
	if err != nil || len(got) != 5 {
		t.Fatalf("got %d machines, %v", len(got), err)
	}
	if m := got[0]; m.Offer != p.offer(cloud.OnDemand) || !strings.HasPrefix(m.Zone, "us-") || !strings.HasPrefix(m.Token, "t") || time.Since(m.Launched) > time.Hour {
		t.Errorf("got %+v", m)
	}
}

func TestEndReason(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *fleet.Config) { c.Spot = true })
	id := p.launch(t, "one", 1, p.offer(cloud.Spot))[0].ID
	p.account.Interrupt(t, string(id), 0)
	got, err := p.List(t.Context())
	if err != nil || len(got) != 1 || got[0].State != cloud.InstanceTerminated || !strings.HasPrefix(got[0].Reason, "Server.SpotInstanceTermination") || got[0].Kind != cloud.NoCapacity || got[0].Offer.Price != cloud.Spot {
		t.Errorf("got %+v, %v", got, err)
	}
}

// EC2 may terminate an instance that it has launched. The state reason determines the kind of the
// error that the launch would have returned.
func TestStateReasonsHaveErrorKinds(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]cloud.Kind{
		"Client.VolumeLimitExceeded": cloud.Quota, "Client.InternalError": cloud.Invalid, "Client.InvalidSnapshot.NotFound": cloud.Invalid,
		"Client.InvalidKMSKey.InvalidState": cloud.Invalid, "Server.InternalError": cloud.Invalid, "Server.InsufficientInstanceCapacity": cloud.NoCapacity,
		"Client.UserInitiatedShutdown": "", "Client.InstanceInitiatedShutdown": "",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			p := open(t, nil)
			id := p.launch(t, "one", 1, p.offer(cloud.OnDemand))[0].ID
			p.account.End(t, string(id), code, "as the test wants")
			got, err := p.List(t.Context())
			if err != nil || len(got) != 1 || got[0].State != cloud.InstanceTerminated || got[0].Kind != want || got[0].Reason != code+": as the test wants" {
				t.Errorf("got %+v, %v; want kind %q", got, err, want)
			}
			if named := want == cloud.Quota || strings.HasPrefix(code, "Client.In") && want != ""; len(got) == 1 && named && got[0].Fix == "" {
				t.Error("the error has no fix")
			}
		})
	}
}

func TestTerminateSkipsForgottenInstances(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	var ids []cloud.InstanceID
	for _, m := range p.launch(t, "many", 130, p.offer(cloud.OnDemand)) {
		ids = append(ids, m.ID)
	}
	ids[7], ids[120] = "i-00000000000000001", "i-00000000000000002"
	if err := p.Terminate(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	alive := 0
	for _, m := range p.account.Machines(t) {
		if m.State == "running" {
			alive++
		}
	}
	if alive != 2 {
		t.Errorf("got %d alive, want the 2 that were not named", alive)
	}
}

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]cloud.Kind{
		"InsufficientInstanceCapacity": cloud.NoCapacity, "SpotMaxPriceTooLow": cloud.NoCapacity,
		"MaxSpotInstanceCountExceeded": cloud.Quota, "VcpuLimitExceeded": cloud.Quota,
		"InvalidKeyPair.NotFound": cloud.NotFound, "RequestLimitExceeded": cloud.RateLimited,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			p := open(t, nil)
			p.account.Limit(t, motest.Capacity{Type: "g4dn.xlarge", Code: code, Message: "no"})
			_, err := p.Launch(t.Context(), cloud.Launch{Token: "one", Offer: p.offer(cloud.OnDemand), Count: 1})
			if got := cloud.KindOf(err); got != want {
				t.Errorf("got %s (%v), want %s", got, err, want)
			}
			if _, err := p.Launch(t.Context(), cloud.Launch{Token: "two", Offer: cloud.Offer{Type: "g4dn.2xlarge", Zone: p.cfg.Subnets[1], Price: cloud.Spot}, Count: 1}); err != nil {
				t.Errorf("the next type: %v", err)
			}
		})
	}
}

func TestSweepCancelsOpenSpotRequests(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *fleet.Config) { c.Spot = true })
	p.launch(t, "one", 1, p.offer(cloud.Spot))
	p.account.Limit(t, motest.Capacity{Market: "spot"})
	request := func(tags ...string) string {
		var all []types.Tag
		for _, t := range tags {
			k, v, _ := strings.Cut(t, "=")
			all = append(all, types.Tag{Key: &k, Value: &v})
		}
		out, err := ec2.NewFromConfig(p.caller).RequestSpotInstances(t.Context(), &ec2.RequestSpotInstancesInput{
			LaunchSpecification: &types.RequestSpotLaunchSpecification{ImageId: aws.String(motest.ImageAMD64), InstanceType: "g4dn.xlarge"},
			TagSpecifications:   []types.TagSpecification{{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: all}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.SpotInstanceRequests[0].SpotInstanceRequestId
	}
	mine := request("managed_by=lab", "determined-resource-pool=gpu")
	request("managed_by=lab", "determined-resource-pool=cpu")
	request("managed_by=lab", "determined-resource-pool=gpu", "det-deploy-cluster=other")
	request("managed_by=somebody", "determined-resource-pool=gpu")
	got, err := p.Sweep(t.Context())
	if err != nil || len(got) != 1 || got[0] != mine {
		t.Errorf("got %v, want %s: %v", got, mine, err)
	}
	if got, err := p.Sweep(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("again: got %v, %v", got, err)
	}
}

func TestConsoleReturnsLastLines(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	id := p.launch(t, "one", 1, p.offer(cloud.OnDemand))[0].ID
	p.account.Console(t, string(id), strings.Repeat("booting\n", 500)+"no route to master\n")
	got, err := p.Console(t.Context(), id)
	if err != nil || !strings.HasSuffix(got, "\nno route to master") || strings.Count(got, "\n") != 99 {
		t.Errorf("got %q, %v", got, err)
	}
}

// EC2 returns outdated console output unless the latest is requested, which instances on Xen do not
// support.
func TestConsoleRequestsLatestOutput(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	id := p.launch(t, "one", 1, p.offer(cloud.OnDemand))[0].ID
	p.account.Console(t, string(id), "booting\n")
	p.proxy.Add(faultproxy.Rule{
		Action: regexp.MustCompile("^GetConsoleOutput$"), Body: regexp.MustCompile("Latest=true"), Count: 1,
		Effect: faultproxy.Refuse(400, "UnsupportedOperation", "This instance type does not support retrieving the latest console logs."),
	})
	for _, want := range []int{2, 3} { // one call of the first List fails
		if got, err := p.Console(t.Context(), id); err != nil || got != "booting" {
			t.Errorf("got %q, %v", got, err)
		}
		if got := p.proxy.Actions()["ec2:GetConsoleOutput"]; got != want {
			t.Errorf("got %d calls, want %d", got, want)
		}
	}
}

// The policies of Determined's manual, verbatim: four actions, and three more for spot instances.
// The fleet works with them and logs the permissions that it lacks.
func TestFleetWorksWithDocumentedPolicy(t *testing.T) {
	t.Parallel()
	four := `"ec2:DescribeInstances", "ec2:TerminateInstances", "ec2:CreateTags", "ec2:RunInstances"`
	seven := four + `, "ec2:CancelSpotInstanceRequests", "ec2:RequestSpotInstances", "ec2:DescribeSpotInstanceRequests"`
	for name, tc := range map[string]struct {
		actions string
		price   cloud.Price
	}{
		"four actions":  {four, cloud.OnDemand},
		"seven actions": {seven, cloud.Spot},
		// Four actions suffice to launch spot instances; only Sweep requires the others.
		"four actions and spot": {four, cloud.Spot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, func(c *fleet.Config) { c.Spot = tc.price == cloud.Spot })
			p.caller = p.account.As(p.account.Assume(t, p.account.Role(t, "master", fmt.Sprintf(
				`{"Version": "2012-10-17", "Statement": [{"Sid": "VisualEditor0", "Effect": "Allow", "Action": [%s], "Resource": "*"}]}`, tc.actions)), "i-0123456789abcdef0"))
			p.caller.BaseEndpoint = aws.String(p.proxy.URL)
			p.account.Enforce(t, true)
			p.Fleet = p.reopen(t, p.cfg)
			m := p.launch(t, "one", 2, p.offer(tc.price))
			if got, err := p.List(t.Context()); err != nil || len(got) != 2 {
				t.Errorf("list: got %v, %v", got, err)
			}
			_, err := p.Console(t.Context(), m[0].ID)
			if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "ec2:GetConsoleOutput") {
				t.Errorf("console: got %v, want an error with ec2:GetConsoleOutput", err)
			}
			_, err = p.Sweep(t.Context())
			if tc.actions == four && tc.price == cloud.Spot {
				if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "ec2:DescribeSpotInstanceRequests") {
					t.Errorf("sweep: got %v, want an error with ec2:DescribeSpotInstanceRequests", err)
				}
			} else if err != nil {
				t.Errorf("sweep: %v", err)
			}
			if err := p.Terminate(t.Context(), []cloud.InstanceID{m[0].ID, m[1].ID}); err != nil {
				t.Errorf("terminate: %v", err)
			}
		})
	}
}

func TestUserDataIsSet(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	id := string(p.launch(t, "one", 1, p.offer(cloud.OnDemand))[0].ID)
	out, err := ec2.NewFromConfig(p.caller).DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: types.InstanceAttributeNameUserData})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := base64.StdEncoding.DecodeString(*out.UserData.Value); err != nil || string(got) != "#!/bin/sh\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
