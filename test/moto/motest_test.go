package motest_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	motest "github.com/det-deploy/det-deploy/test/moto"
)

// world is an account and its EC2 client as the root user.
type world struct {
	*motest.Account
	ec2 *ec2.Client
}

func open(t *testing.T) world {
	t.Helper()
	a := motest.Open(t)
	return world{a, client(a.Config())}
}

func client(c aws.Config) *ec2.Client {
	return ec2.NewFromConfig(c, func(o *ec2.Options) { o.RetryMaxAttempts = 1 })
}

func (w world) run(t *testing.T, change func(*ec2.RunInstancesInput)) ([]types.Instance, error) {
	t.Helper()
	return run(t, w.ec2, change)
}

func run(t *testing.T, c *ec2.Client, change func(*ec2.RunInstancesInput)) ([]types.Instance, error) {
	t.Helper()
	in := &ec2.RunInstancesInput{
		ImageId: aws.String(motest.ImageAMD64), InstanceType: types.InstanceTypeT3Micro,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	}
	if change != nil {
		change(in)
	}
	out, err := c.RunInstances(t.Context(), in)
	if err != nil {
		return nil, err
	}
	return out.Instances, nil
}

func (w world) one(t *testing.T, change func(*ec2.RunInstancesInput)) string {
	t.Helper()
	got, err := w.run(t, change)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %d machines, error %v", len(got), err)
	}
	return aws.ToString(got[0].InstanceId)
}

func (w world) machine(t *testing.T, id string) types.Instance {
	t.Helper()
	out, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Reservations[0].Instances[0]
}

func (w world) terminate(t *testing.T, ids ...string) {
	t.Helper()
	if _, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return fmt.Sprint(err)
}

func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func seconds(n int) *time.Duration {
	d := time.Duration(n) * time.Second
	return &d
}

func TestStateTransitionsTakeTime(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Configure(t, motest.Settings{Pending: seconds(30), Shutdown: seconds(60), Forget: seconds(600), Stopping: seconds(10)})
	id := w.one(t, nil)
	for _, step := range []struct {
		act  func()
		wait int
		want types.InstanceStateName
	}{
		{want: types.InstanceStateNamePending},
		{wait: 31, want: types.InstanceStateNameRunning},
		{act: func() {
			if _, err := w.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
				t.Fatal(err)
			}
		}, want: types.InstanceStateNameStopping},
		{wait: 11, want: types.InstanceStateNameStopped},
		{act: func() { w.terminate(t, id) }, want: types.InstanceStateNameShuttingDown},
		{wait: 61, want: types.InstanceStateNameTerminated},
	} {
		if step.act != nil {
			step.act()
		}
		w.Advance(t, time.Duration(step.wait)*time.Second)
		if got := w.machine(t, id).State.Name; got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	w.terminate(t, id) // terminating a terminated instance is not an error
	w.Advance(t, 601*time.Second)
	_, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

func TestTokenLaunchesOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	three := func(in *ec2.RunInstancesInput) { in.ClientToken, in.MaxCount = aws.String("t1"), aws.Int32(3) }
	first, err := w.run(t, three)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.run(t, three)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 3 || len(again) != 3 || *first[0].InstanceId != *again[0].InstanceId {
		t.Errorf("got %d machines, then %d", len(first), len(again))
	}
	if got := len(w.Machines(t)); got != 3 {
		t.Errorf("got %d machines in all, want 3", got)
	}
	_, err = w.run(t, func(in *ec2.RunInstancesInput) { in.ClientToken = aws.String("t1") })
	wantCode(t, err, "IdempotentParameterMismatch")
}

func TestNewInstanceIsNotDescribedYet(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Configure(t, motest.Settings{Visible: seconds(20)})
	id := w.one(t, nil)
	_, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	w.Advance(t, 21*time.Second)
	w.machine(t, id)
}

func TestCapacityIsByTypeMarketAndSubnet(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Limit(t, motest.Capacity{Type: "t3.micro", Market: "on-demand", Left: 2})
	got, err := w.run(t, func(in *ec2.RunInstancesInput) { in.MaxCount = aws.Int32(5) })
	if err != nil || len(got) != 2 {
		t.Fatalf("got %d machines, want 2, error %v", len(got), err)
	}
	_, err = w.run(t, nil)
	wantCode(t, err, "InsufficientInstanceCapacity")
	w.one(t, func(in *ec2.RunInstancesInput) { in.InstanceType = types.InstanceTypeT3Small })
	w.Limit(t, motest.Capacity{Type: "t3.micro", Market: "on-demand", Left: -1})
	w.Limit(t, motest.Capacity{Market: "spot", Code: "MaxSpotInstanceCountExceeded", Message: "Max spot instance count exceeded"})
	w.one(t, nil)
	_, err = w.run(t, spot)
	wantCode(t, err, "MaxSpotInstanceCountExceeded")
}

func spot(in *ec2.RunInstancesInput) {
	in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{
		MarketType:  types.MarketTypeSpot,
		SpotOptions: &types.SpotMarketOptions{MaxPrice: aws.String("0.5"), SpotInstanceType: types.SpotInstanceTypeOneTime},
	}
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}},
		{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}},
	}
}

func TestSpotLaunchCreatesRequest(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.one(t, spot)
	m := w.machine(t, id)
	if m.InstanceLifecycle != types.InstanceLifecycleTypeSpot || m.SpotInstanceRequestId == nil {
		t.Fatalf("got %+v", m)
	}
	request := func() types.SpotInstanceRequest {
		out, err := w.ec2.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{
			Filters: []types.Filter{{Name: aws.String("tag:k"), Values: []string{"v"}}},
		})
		if err != nil || len(out.SpotInstanceRequests) != 1 {
			t.Fatalf("got %+v, %v", out, err)
		}
		return out.SpotInstanceRequests[0]
	}
	if r := request(); r.State != types.SpotInstanceStateActive || aws.ToString(r.InstanceId) != id {
		t.Errorf("got %+v", r)
	}
	w.Interrupt(t, id, 2*time.Minute)
	if got := w.Machines(t)[0]; got.State != "running" || !strings.Contains(string(got.Notice), "terminate") {
		t.Errorf("got %+v", got)
	}
	w.Advance(t, 121*time.Second)
	if m := w.machine(t, id); m.State.Name != types.InstanceStateNameTerminated || aws.ToString(m.StateReason.Code) != "Server.SpotInstanceTermination" {
		t.Errorf("got %s %+v", m.State.Name, m.StateReason)
	}
	if r := request(); r.State != types.SpotInstanceStateClosed || aws.ToString(r.Status.Code) != "instance-terminated-no-capacity" {
		t.Errorf("got %+v", r)
	}
}

func TestSpotRequestWithoutCapacityStaysOpen(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Limit(t, motest.Capacity{Market: "spot"})
	out, err := w.ec2.RequestSpotInstances(t.Context(), &ec2.RequestSpotInstancesInput{
		LaunchSpecification: &types.RequestSpotLaunchSpecification{ImageId: aws.String(motest.ImageAMD64), InstanceType: types.InstanceTypeT3Micro},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := out.SpotInstanceRequests[0]
	if r.State != types.SpotInstanceStateOpen || r.InstanceId != nil {
		t.Errorf("got %+v", r)
	}
	ids := []string{*r.SpotInstanceRequestId}
	if _, err := w.ec2.CancelSpotInstanceRequests(t.Context(), &ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: ids}); err != nil {
		t.Fatal(err)
	}
	seen, err := w.ec2.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: ids})
	if err != nil || seen.SpotInstanceRequests[0].State != types.SpotInstanceStateCancelled {
		t.Errorf("got %+v, %v", seen, err)
	}
}

func TestObjectsInUseAreNotDeleted(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Configure(t, motest.Settings{Shutdown: seconds(60)})
	subnets, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	subnet, vpc := subnets.Subnets[0].SubnetId, subnets.Subnets[0].VpcId
	group, err := w.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("g"), Description: aws.String("g"), VpcId: vpc})
	if err != nil {
		t.Fatal(err)
	}
	id := w.one(t, func(in *ec2.RunInstancesInput) {
		in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: subnet, Groups: []string{*group.GroupId},
			AssociatePublicIpAddress: aws.Bool(true), DeleteOnTermination: aws.Bool(true),
		}}
	})
	m := w.machine(t, id)
	if len(m.SecurityGroups) != 1 || m.PublicIpAddress == nil || aws.ToString(m.SubnetId) != *subnet {
		t.Errorf("got groups %v, address %v, subnet %v", m.SecurityGroups, m.PublicIpAddress, m.SubnetId)
	}
	remove := func() error {
		_, err := w.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: group.GroupId})
		return err
	}
	wantCode(t, remove(), "DependencyViolation")
	_, err = w.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: subnet})
	wantCode(t, err, "DependencyViolation")
	w.terminate(t, id)
	wantCode(t, remove(), "DependencyViolation")
	w.Advance(t, 61*time.Second)
	if err := remove(); err != nil {
		t.Error(err)
	}
}

func TestUserDataRequiresStoppedInstance(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.one(t, func(in *ec2.RunInstancesInput) {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\necho one\n")))
	})
	change := func() error {
		_, err := w.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{
			InstanceId: &id, UserData: &types.SecureBlobAttributeValue{Value: []byte("#!/bin/sh\necho two\n")},
		})
		return err
	}
	wantCode(t, change(), "IncorrectInstanceState")
	if _, err := w.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if err := change(); err != nil {
		t.Fatal(err)
	}
	got, err := w.ec2.DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: types.InstanceAttributeNameUserData})
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(got.UserData.Value))
	if err != nil || string(text) != "#!/bin/sh\necho two\n" {
		t.Errorf("got %q, %v", text, err)
	}
	_, err = w.run(t, func(in *ec2.RunInstancesInput) {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
	})
	wantCode(t, err, "InvalidParameterValue")
}

func TestListPages(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Configure(t, motest.Settings{Page: aws.Int(2)})
	var want []string
	for range 5 {
		want = append(want, w.one(t, nil))
	}
	var got []string
	pages := ec2.NewDescribeInstancesPaginator(w.ec2, &ec2.DescribeInstancesInput{})
	n := 0
	for ; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Reservations {
			got = append(got, *r.Instances[0].InstanceId)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || n != 3 {
		t.Errorf("got %v in %d pages, want %v in 3", got, n, want)
	}
}

func TestAccountsAreIsolated(t *testing.T) {
	t.Parallel()
	one, two := open(t), open(t)
	one.one(t, nil)
	out, err := two.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil || len(out.Reservations) != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
	who, err := sts.NewFromConfig(two.Config()).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || aws.ToString(who.Account) != two.ID {
		t.Errorf("got %+v, %v", who, err)
	}
}

func TestStockImagesAreFound(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, region := range []string{"us-west-2", "eu-central-1"} {
		c := w.Config()
		c.Region = region
		out, err := ssm.NewFromConfig(c).GetParameter(t.Context(), &ssm.GetParameterInput{
			Name: aws.String("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"),
		})
		if err != nil || aws.ToString(out.Parameter.Value) != motest.ImageAMD64 {
			t.Fatalf("got %+v, %v", out, err)
		}
		images, err := client(c).DescribeImages(t.Context(), &ec2.DescribeImagesInput{
			Owners: []string{"099720109477"}, Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}},
		})
		if err != nil || len(images.Images) != 2 {
			t.Errorf("got %+v, %v", images, err)
		}
	}
	_, err := w.run(t, func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ami-0123456789abcdef0") })
	wantCode(t, err, "InvalidAMIID.NotFound")
}

func TestAccessControlEvaluatesActions(t *testing.T) {
	t.Parallel()
	w := open(t)
	agent := w.Role(t, "agent", "")
	policy := `{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": ["ec2:RunInstances", "ec2:DescribeInstances"], "Resource": "arn:aws:ec2:*:*:instance/*",
		 "Condition": {"StringEquals": {"aws:RequestTag/x": "y"}}}%s]}`
	may := client(w.As(w.Assume(t, w.Role(t, "master", fmt.Sprintf(policy, "")), "i-1")))
	pass := client(w.As(w.Assume(t, w.Role(t, "passer", fmt.Sprintf(policy, `, {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "`+agent+`"}`)), "i-2")))
	w.Enforce(t, true)

	withProfile := func(in *ec2.RunInstancesInput) {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("agent")}
	}
	if _, err := run(t, may, nil); err != nil {
		t.Errorf("an allowed action: %v", err)
	}
	_, err := run(t, may, withProfile)
	wantCode(t, err, "UnauthorizedOperation")
	if got, err := run(t, pass, withProfile); err != nil || got[0].IamInstanceProfile == nil {
		t.Errorf("with iam:PassRole: %v", err)
	}
	_, err = may.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-1"}})
	wantCode(t, err, "UnauthorizedOperation")

	credentials := w.Assume(t, agent, "i-3")
	_, err = secretsmanager.NewFromConfig(w.As(credentials)).ListSecrets(t.Context(), &secretsmanager.ListSecretsInput{})
	wantCode(t, err, "AccessDeniedException")
	_, err = s3.NewFromConfig(w.As(credentials)).ListBuckets(t.Context(), &s3.ListBucketsInput{})
	wantCode(t, err, "AccessDenied")
	credentials.SecretAccessKey += "x"
	_, err = client(w.As(credentials)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	wantCode(t, err, "AuthFailure")
	_, err = sts.NewFromConfig(w.As(credentials)).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "SignatureDoesNotMatch")
}

func TestNewProfileIsDelayed(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Configure(t, motest.Settings{ProfileLag: seconds(10)})
	w.Role(t, "agent", "")
	use := func(name string) error {
		_, err := w.run(t, func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: &name}
		})
		return err
	}
	wantCode(t, use("agent"), "InvalidParameterValue")
	wantCode(t, use("nobody"), "InvalidParameterValue")
	w.Advance(t, 11*time.Second)
	if err := use("agent"); err != nil {
		t.Error(err)
	}
}
